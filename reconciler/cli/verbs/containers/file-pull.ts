// `gantry file pull`: copies files out of a container. The content of containers is not trusted: nothing is written outside the target.
import type { Command, RunOf } from '../../session/context.ts';
import { lstat, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { filesOf, type FileEntry, type Files } from '../../../../server/client/files/container-files.ts';
import type { filePull } from './container-verbs.ts';
import { replaceByLink, replaceWhole } from '../../../../server/lib/durable-files.ts';
import { withClient } from '../../session/connect.ts';
import { download } from '../../output/download.ts';
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
  await download(context, source, entry.body, context.io.raw.stdout);
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
  if (entry.type === 'file')
    return download(context, path, entry.body, (chunks) => writeLocal(chunks, target, entry.mode));
  if (entry.type === 'symlink') return replaceByLink(target, entry.target);
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

async function writeLocal(chunks: AsyncIterable<Buffer>, target: string, mode: number): Promise<void> {
  if ((await lstat(target).catch(() => undefined))?.isSymbolicLink() === true)
    throw commandError(`cannot write ${target}: it is a symbolic link; name the file that it leads to, or remove it`);
  // Never setuid: the file belongs to the local user.
  await replaceWhole(target, chunks, { mode: mode & 0o777, isFlushed: false });
}
