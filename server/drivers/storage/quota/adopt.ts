// Gives a tree that has no project yet one, file by file. A container may be changing the tree: nothing is reached by a path that
// leads out of it.
import { closeSync, constants, fstatSync, openSync, readdirSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { ifMissing } from '../../../lib/shared/missing-files.ts';
import { driverErrors } from '../../driver-error.ts';
import type { QuotaCalls } from './calls.ts';

/** O_PATH, which Node does not name: nothing is opened, so pipes and devices are not touched. */
const pathOnly = 0o10000000;
/** One descriptor is open for each. */
const maxDepth = 400;
/** Yields to other work after this many files. */
const filesAtOnce = 200;

const ofFd = (fd: number): Buffer => Buffer.from(`/proc/self/fd/${fd}`);

/** Links and devices cannot be given one; they take no blocks worth counting. Other file systems mounted inside are left out. */
export async function adoptTree(calls: QuotaCalls, path: string, id: number): Promise<void> {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await adoptDirectory(calls, fd, { id, device: fstatSync(fd).dev }, 0);
  } finally {
    closeSync(fd);
  }
}

interface Wanted {
  readonly id: number;
  readonly device: number;
}

/** The directory first: what is made in it from then on has the project, what was there before is found in it. */
async function adoptDirectory(calls: QuotaCalls, fd: number, wanted: Wanted, depth: number): Promise<void> {
  if (depth > maxDepth)
    throw driverErrors.failed(`it has directories more than ${maxDepth} levels deep: copy it, the copy has a limit`);
  calls.setProject(fd, wanted.id, true);
  const entries = readdirSync(ofFd(fd), { encoding: 'buffer', withFileTypes: true });
  for (const [index, entry] of entries.entries()) {
    if (index % filesAtOnce === 0) await turn();
    if (!entry.isDirectory() && !entry.isFile()) continue;
    const found = openEntry(fd, entry.name, wanted.device);
    if (found === undefined) continue;
    try {
      if (found.isDirectory) await adoptDirectory(calls, found.fd, wanted, depth + 1);
      else calls.setProject(found.fd, wanted.id, false);
    } finally {
      closeSync(found.fd);
    }
  }
}

interface Found {
  readonly fd: number;
  readonly isDirectory: boolean;
}

/** Undefined: it is gone, or something else by now. */
function openEntry(parent: number, name: Buffer, device: number): Found | undefined {
  try {
    const held = openSync(Buffer.concat([ofFd(parent), Buffer.from('/'), name]), pathOnly | constants.O_NOFOLLOW);
    try {
      const stats = fstatSync(held);
      if (stats.dev !== device || !(stats.isFile() || stats.isDirectory())) return undefined;
      const fd = openSync(ofFd(held), constants.O_RDONLY | constants.O_NONBLOCK);
      return { fd, isDirectory: stats.isDirectory() };
    } finally {
      closeSync(held);
    }
  } catch (error) {
    return ifMissing(error);
  }
}
