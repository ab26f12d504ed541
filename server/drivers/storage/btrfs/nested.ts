// Snapshots of subvolumes that have subvolumes of a guest in them: btrfs leaves an empty directory in the place of each, here they
// come along. Nothing is reached by a path that a guest could turn elsewhere meanwhile.
import { constants } from 'node:fs';
import { access, open, rmdir, type FileHandle } from 'node:fs/promises';
import { hasCode } from '../../../lib/shared/error-code.ts';
import { type DriverError, driverErrors } from '../../driver-error.ts';
import { commands, countSubvolumes } from './commands.ts';
import { run } from './pool.ts';

/** More than any engine of containers makes; a guest can make them without end. */
const maxNested = 10_000;
const walkMs = 3_600_000;

/** A writable snapshot; `to` is absent. Each subvolume inside is as it was at its own moment. On a throw the caller removes what is
 *  there. */
export async function copyWithNested(from: string, to: string, signal: AbortSignal): Promise<void> {
  if (await hasNested(from)) await withNested(from, to, signal);
  else await run(commands.snapshot(from, to, 'writable'), undefined, signal);
}

/** A sealed one has none inside: those are never sealed. Cheaper than asking btrfs. */
export async function isSealed(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => false,
    (error: unknown) => hasCode(error, 'EROFS'),
  );
}

export async function hasNested(path: string): Promise<boolean> {
  if (await isSealed(path)) return false;
  return countSubvolumes((await run(commands.listInside(path))).stdout) > 0;
}

/** What streams of btrfs cannot carry: one of them brings one subvolume. */
export async function refuseNested(path: string): Promise<void> {
  if (await hasNested(path))
    throw driverErrors.notSupported(
      `it has btrfs subvolumes of its own inside, which optimized streams of btrfs leave out: do it without optimized storage`,
    );
}

async function withNested(from: string, to: string, signal: AbortSignal): Promise<void> {
  const inside = await findNested(from);
  await run(commands.snapshot(from, to, 'writable'), undefined, signal);
  for (const path of inside) await at(from, path, (source) => putInto(to, path, source, signal));
}

/** A writable snapshot of `source` comes to `path` in `tree`: there is nothing (as in what a stream brought), or an empty directory. */
export async function putInto(tree: string, path: string, source: string, signal: AbortSignal): Promise<void> {
  const parts = path.split('/');
  await at(tree, parts.slice(0, -1).join('/'), async (parent) => {
    const place = `${parent}/${parts.at(-1) ?? ''}`;
    await rmdir(place).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
    await run(commands.snapshot(source, place, 'writable'), undefined, signal);
  });
}

/** Relative, each after those it is in. From the tree and not from what btrfs lists: there a name could pass for a line of its own. */
export async function findNested(path: string): Promise<readonly string[]> {
  const { stdout } = await run(commands.findNested(path), walkMs);
  const found = stdout.split('\0').filter((each) => each !== '');
  if (found.length > maxNested)
    throw driverErrors.failed(`there are more than ${maxNested} btrfs subvolumes inside; delete some`);
  return found;
}

/** All that are in it, whatever they are called. Nobody else is in the tree. */
export async function removeNested(path: string): Promise<void> {
  await run(commands.removeNested(path), walkMs);
}

const moved = (path: string): DriverError =>
  driverErrors.failed(
    `the btrfs subvolume at ${JSON.stringify(path.slice(-200))} was moved meanwhile, or has no readable name`,
  );

/** For this process and those it starts. */
const ofFd = (handle: FileHandle): string => `/proc/${process.pid}/fd/${handle.fd}`;

/** Runs `use` with a name for the directory at `path` in `tree`, reached one name at a time, through directories only. */
export async function at<T>(tree: string, path: string, use: (named: string) => Promise<T>): Promise<T> {
  const handle = await openBelow(tree, path === '' ? [] : path.split('/'));
  try {
    return await use(ofFd(handle));
  } finally {
    await handle.close();
  }
}

async function openBelow(path: string, parts: readonly string[]): Promise<FileHandle> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  let handle = await open(path, flags);
  for (const part of parts) {
    const before = handle;
    try {
      handle = await open(`${ofFd(before)}/${part}`, flags | constants.O_NOFOLLOW);
    } catch (error) {
      throw hasCode(error, 'ENOENT', 'ELOOP', 'ENOTDIR') ? moved(part) : error;
    } finally {
      await before.close();
    }
  }
  return handle;
}
