// `gantry file pull`: copies files out of a container. The content of containers is not trusted: nothing is written outside the target.
import type { Command, RunOf } from '../../session/context.ts';
import { createWriteStream } from 'node:fs';
import { constants, lstat, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { filesOf, type FileEntry, type Files } from '../../../../server/client/files/container-files.ts';
import type { filePull } from './container-verbs.ts';
import { localError } from '../../errors/local-error.ts';
import { withClient } from '../../session/connect.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { baseName, below, refuse, parseFileAddress } from './file-address.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';

const maxLinks = 20;

export const pullFile: RunOf<typeof filePull> = async (context, [source = '', target = '']) => {
  const { options } = context;
  const { container, path } = parseFileAddress(source);
  if (target === '-' && options.recursive === true) throw usageError('--recursive cannot write to -');
  await withClient(context, async (client) => {
    const files = filesOf(client.http, container);
    try {
      const entry = await readThrough(files, path, context.stop);
      if (target === '-') await toStdout(context, entry, source);
      else await toDisk(context, files, { entry, path, source, target, isRecursive: options.recursive === true });
    } catch (error) {
      await refuse(client, error, source);
    }
  });
};

/** Follows links of the path on the command line. */
async function readThrough(files: Files, path: string, signal: AbortSignal): Promise<FileEntry> {
  let at = path;
  for (let links = 0; links < maxLinks; links += 1) {
    const entry = await files.read(at, signal);
    if (entry.type !== 'symlink') return entry;
    at = entry.target.startsWith('/') ? entry.target : below(dirname(at), entry.target);
  }
  throw commandError(`${path} goes through more than ${maxLinks} symbolic links`);
}

async function toStdout(context: Command, entry: FileEntry, source: string): Promise<void> {
  if (entry.type !== 'file') throw commandError(`${source} is a directory`);
  await pipeline(entry.body, context.io.raw.stdout, { end: false, signal: context.stop });
}

interface Pull {
  readonly entry: FileEntry;
  readonly path: string;
  readonly source: string;
  readonly target: string;
  readonly isRecursive: boolean;
}

async function toDisk(context: Command, files: Files, pull: Pull): Promise<void> {
  const { entry, path, source, isRecursive } = pull;
  if (entry.type === 'directory' && !isRecursive) {
    throw commandError(`${source} is a directory: give --recursive to copy all of it`);
  }
  const isInto =
    pull.target.endsWith('/') || ((await stat(pull.target).catch(() => undefined))?.isDirectory() ?? false);
  const target = isInto ? join(pull.target, baseName(path) || 'rootfs') : pull.target;
  await copy(context, files, entry, path, target);
}

async function copy(context: Command, files: Files, entry: FileEntry, path: string, target: string): Promise<void> {
  context.stop.throwIfAborted();
  if (entry.type === 'file') return writeLocal(entry.body, target, entry.mode, context.stop);
  if (entry.type === 'symlink') return linkLocal(entry.target, target);
  await makeFolder(target);
  // A listing may name an entry twice, first as a link to another place.
  if (!(await lstat(target)).isDirectory()) throw commandError(`${target} is not a directory`);
  for (const name of [...new Set(entry.names)].toSorted()) {
    if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) {
      throw commandError(`${path} has an entry with the impossible name ${JSON.stringify(name)}`);
    }
    const inner = below(path, name);
    const child = await files.read(inner, context.stop).catch((error: unknown) => {
      context.note(`${inner} is skipped: ${reasonOf(error)}`);
    });
    if (child !== undefined) await copy(context, files, child, inner, join(target, name));
  }
  return undefined;
}

async function writeLocal(body: Readable, target: string, mode: number, signal: AbortSignal): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
  const isNew = (await lstat(target).catch(() => undefined)) === undefined;
  try {
    // Never setuid: the file belongs to the local user.
    await pipeline(body, createWriteStream(target, { flags: flags as unknown as string, mode: mode & 0o777 }), {
      signal,
    });
  } catch (error) {
    if (isNew) await rm(target, { force: true });
    throw signal.aborted ? signal.reason : localError(`Cannot write ${target}`, error);
  }
}

async function linkLocal(text: string, target: string): Promise<void> {
  await rm(target, { force: true });
  await symlink(text, target).catch((error: unknown) => {
    throw localError(`Cannot make the link ${target}`, error);
  });
}
