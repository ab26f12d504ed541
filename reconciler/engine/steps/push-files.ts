// Writes files, directories and links into a container and removes others, as planned.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { withMessage } from '../../../server/client/client-error.ts';
import {
  deleteIfThere,
  discard,
  makeDirectories,
  readIfThere,
  sha256Of,
} from '../../../server/client/files/file-helpers.ts';
import {
  filesOf,
  type FileAttributes,
  type FileEntry,
  type Files,
} from '../../../server/client/files/container-files.ts';
import { withoutHidden } from '../../../server/client/files/hidden-files.ts';
import type { Content } from '../../core/documents/inside.ts';
import type { FilesStep, FileWrite } from '../../core/plan/plan.ts';
import { posix } from '../../core/text/posix-paths.ts';
import { StaleError, type Note, type StepContext } from './context.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export async function pushFiles(context: StepContext, step: FilesStep, signal: AbortSignal): Promise<Note> {
  const { client } = context;
  const files = withoutHidden(filesOf(client.http, step.name), client, step.name, signal);
  const count = step.writes.length + step.removes.length;
  let done = 0;
  const reported = async (path: string, work: Promise<void>): Promise<void> => {
    context.onProgress(path, Math.floor((100 * done) / count));
    await work.catch((error: unknown) => {
      throw signal.aborted ? error : named(error, path);
    });
    done += 1;
  };
  for (const write of step.writes) await reported(write.path, writeEntry(files, write, signal));
  const kept: string[] = [];
  for (const path of step.removes) {
    const remove = async (): Promise<void> => {
      if (!(await removeEntry(files, path, signal))) kept.push(path);
    };
    await reported(path, remove());
  }
  return kept.length === 0 ? undefined : `kept, because it is not empty: ${kept.join(', ')}`;
}

function named(error: unknown, path: string): unknown {
  if (error instanceof StaleError || !(error instanceof Error)) return error;
  return error.message.includes(path) ? error : withMessage(error, `${path}: ${error.message}`);
}

async function writeEntry(files: Files, { path, entry, content }: FileWrite, signal: AbortSignal): Promise<void> {
  const now = await readIfThere(files, path, signal);
  if (now !== undefined) discard(now);
  // A write would follow an existing link, and links cannot be changed.
  const isInTheWay = now !== undefined && (now.type !== entry.type || entry.type === 'symlink');
  if (isInTheWay) await files.delete(path, signal);
  const there = isInTheWay ? undefined : now;
  if (there === undefined) await makeDirectories(files, posix.parentOf(path), signal);
  const isNewDirectory = entry.type === 'directory' && there === undefined;
  const attributes = { ...(isNewDirectory ? { mode: 0o755 } : {}), ...attributesOf(entry) };
  const put = (): Promise<void> => {
    if (entry.type === 'symlink') return files.makeSymlink(path, entry.target ?? '', {}, signal);
    if (entry.type === 'directory') return files.makeDirectory(path, attributes, signal);
    return send(files, path, { hash: entry.content ?? '', content }, attributes, signal);
  };
  await put();
  if (there === undefined || entry.type === 'symlink' || isAs(there, attributes)) return;
  const after = await readIfThere(files, path, signal);
  if (after === undefined) throw new StaleError(`${path} vanished while it was written`);
  discard(after);
  if (isAs(after, attributes)) return;
  if (entry.type === 'directory') {
    throw new Error(
      `${path} exists with another owner or mode, which this server cannot change for a directory: change it with an exec`,
    );
  }
  // Real LXD sets owner and mode only on new files.
  await files.delete(path, signal);
  await put();
}

function attributesOf({ mode, uid, gid }: FileWrite['entry']): FileAttributes {
  return {
    ...(mode === undefined ? {} : { mode: Number.parseInt(mode, 8) }),
    ...withoutUndefined({ uid, gid }),
  };
}

const isAs = (entry: FileEntry, { mode, uid, gid }: FileAttributes): boolean =>
  (mode === undefined || (entry.mode & 0o7777) === mode) &&
  (uid === undefined || entry.uid === uid) &&
  (gid === undefined || entry.gid === gid);

/** Writes only the approved content: a local file is hashed before it is sent. */
async function send(
  files: Files,
  path: string,
  { hash, content }: { readonly hash: string; readonly content: Content | undefined },
  attributes: FileAttributes,
  signal: AbortSignal,
): Promise<void> {
  if (content === undefined) throw new StaleError(`the content for ${path} is no longer known`);
  if (!('file' in content)) {
    const bytes = 'text' in content ? Buffer.from(content.text) : Buffer.from(content.base64, 'base64');
    await files.write(path, Readable.from([bytes]), { ...attributes, sizeBytes: bytes.length }, signal);
    return;
  }
  const before = await stat(content.file);
  if (`sha256:${await sha256Of(createReadStream(content.file, { signal }))}` !== hash) {
    throw new StaleError(`${content.file} has changed since the plan was made`);
  }
  const { size } = await stat(content.file);
  if (size !== before.size) throw new StaleError(`${content.file} changed while it was read`);
  await files.write(path, createReadStream(content.file), { ...attributes, sizeBytes: size }, signal);
}

/** False for a directory that is not empty, whose content belongs to others. */
async function removeEntry(files: Files, path: string, signal: AbortSignal): Promise<boolean> {
  const now = await readIfThere(files, path, signal);
  if (now === undefined) return true;
  discard(now);
  if (now.type === 'directory' && now.names.length > 0) return false;
  await deleteIfThere(files, path, signal);
  return true;
}
