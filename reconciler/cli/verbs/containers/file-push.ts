// `gantry file push`: copies files into a container.
import type { RunOf } from '../../session/context.ts';
import { createReadStream, type Stats } from 'node:fs';
import { lstat, readdir, readlink, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { discard, readIfThere } from '../../../../server/client/files/file-helpers.ts';
import { filesOf, type FileAttributes, type Files } from '../../../../server/client/files/container-files.ts';
import { counted, type OnSent } from '../../../../server/client/files/counted.ts';
import type { filePush } from './container-verbs.ts';
import { uploadProgress } from '../../session/upload-progress.ts';
import { withClient } from '../../session/connect.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { below, refuse, idOption, modeOption, parseFileAddress } from './file-address.ts';
import { fileError } from '../../../../server/lib/shared/error-code.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

interface Push {
  readonly files: Files;
  readonly signal: AbortSignal;
  readonly ids: FileAttributes;
  /** Mode of files; directories get the x bits too. */
  readonly mode: number | undefined;
  readonly note: (text: string) => void;
  readonly progress: (source: string) => OnSent;
}

export const pushFile: RunOf<typeof filePush> = async (context, [source = '', target = '']) => {
  const { options } = context;
  const { container, path } = parseFileAddress(target);
  const uid = idOption('--uid', options.uid);
  const gid = idOption('--gid', options.gid);
  const mode = modeOption(options.mode);
  if (source === '-' && path.endsWith('/'))
    throw usageError(`${target} needs a file name when the content comes from -`);
  const at = path.endsWith('/') ? `${path}${basename(resolve(source))}` : path;
  const found = source === '-' ? undefined : await lookAt(source, options.recursive === true);
  await withClient(context, async (client) => {
    const ids = { ...withoutUndefined({ uid, gid }) };
    const files = filesOf(client.http, container);
    const progress = (file: string): OnSent => uploadProgress(context, file);
    const push: Push = { files, signal: context.stop, ids, mode, note: context.note, progress };
    try {
      if (options.createDirs === true) await makeParents(push, at);
      if (found === undefined) {
        const wanted = { ...ids, ...withoutUndefined({ mode }) };
        await files.write(at, context.io.stdin, wanted, context.stop);
      } else if (found.isDirectory()) await pushDirectory(push, source, found, at);
      else await pushOne(push, source, found, at);
    } catch (error) {
      await refuse(client, error, target);
    }
  });
};

async function lookAt(source: string, isRecursive: boolean): Promise<Stats> {
  const found = await stat(source).catch((error: unknown) => {
    throw fileError(`Cannot read ${source}`, error);
  });
  if (found.isDirectory() && !isRecursive) {
    throw commandError(`${source} is a directory: give --recursive to copy all of it`);
  }
  if (!found.isDirectory() && !found.isFile()) throw commandError(`${source} is not a file`);
  return found;
}

async function makeParents({ files, signal, ids }: Push, path: string): Promise<void> {
  const parents: string[] = [];
  for (let dir = dirname(path); dir !== '/'; dir = dirname(dir)) parents.push(dir);
  for (const dir of parents.toReversed()) {
    const found = await readIfThere(files, dir, signal);
    if (found === undefined) await files.makeDirectory(dir, { ...ids, mode: 0o755 }, signal);
    else discard(found);
  }
}

async function pushDirectory(push: Push, source: string, found: Stats, path: string): Promise<void> {
  push.signal.throwIfAborted();
  // Directories get an x bit for each r bit.
  const mode = push.mode === undefined ? found.mode & 0o777 : push.mode | ((push.mode & 0o444) >> 2);
  await push.files.makeDirectory(path, { ...push.ids, mode }, push.signal);
  for (const name of (await readdir(source)).toSorted()) {
    const [from, to] = [join(source, name), below(path, name)];
    const inner = await lstat(from);
    if (inner.isDirectory()) await pushDirectory(push, from, inner, to);
    else if (inner.isSymbolicLink()) await push.files.makeSymlink(to, await readlink(from), push.ids, push.signal);
    else if (inner.isFile()) await pushOne(push, from, inner, to);
    else push.note(`${from} is skipped: it is not a file, directory or link`);
  }
}

async function pushOne(push: Push, source: string, found: Stats, path: string): Promise<void> {
  const file = createReadStream(source, { highWaterMark: 256 * 1024 });
  const content = counted(file, found.size, push.progress(source));
  const mode = push.mode ?? found.mode & 0o777;
  try {
    await push.files.write(path, content, { ...push.ids, mode, sizeBytes: found.size }, push.signal);
  } catch (error) {
    throw fileError(`Cannot read ${source}`, error);
  } finally {
    content.destroy();
    file.destroy();
  }
}
