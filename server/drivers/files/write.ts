// Writes files of a container's tree. A new file appears whole or not at all; an existing one keeps its inode and is written in place.
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  openSync,
  renameSync,
  unlinkSync,
  writev,
} from 'node:fs';
import type { Readable } from 'node:stream';
import { changing, isOwnedBy, ownerFor, type Acting, type HostIds } from './act.ts';
import type { EntryAttributes, FileRoot } from './driver.ts';
import { below, reopen } from './place.ts';
import { refuseOddFile } from './read.ts';

const defaultMode = 0o644;
/** Received and not yet being written. */
const maxWaitingBytes = 1024 * 1024;
/** O_TMPFILE, which Node does not name: a file without a name, gone with its last descriptor. */
const nameless = 0o20000000 | constants.O_DIRECTORY;

export interface WriteOptions extends EntryAttributes {
  /** Adds at the end; the file is made when absent. */
  readonly append: boolean;
}

/** A link at the end of the path is followed inside the tree. On a throw the rest of `content` is left unread. */
export async function writeFile(
  root: FileRoot,
  path: Buffer,
  content: Readable,
  options: WriteOptions,
  signal: AbortSignal,
): Promise<void> {
  await changing(root, path, { verb: 'write', followLast: true }, async (acting) => {
    const { entry } = acting.found;
    if (entry === undefined) {
      await create(acting, content, { owner: ownerFor(root, options), mode: options.mode ?? defaultMode }, signal);
      return;
    }
    refuseOddFile(entry);
    const owner = ownerFor(root, options, entry.stats);
    const fd = reopen(entry, constants.O_WRONLY | (options.append ? constants.O_APPEND : constants.O_TRUNC));
    try {
      await fill(fd, content, signal);
      dress(fd, owner, options.mode);
    } finally {
      closeSync(fd);
    }
  });
}

interface NewFile {
  readonly owner: HostIds;
  readonly mode: number;
}

async function create(acting: Acting, content: Readable, file: NewFile, signal: AbortSignal): Promise<void> {
  const { found, native, making } = acting;
  const at = below(found.parent, found.name);
  const fd = native === undefined ? undefined : openNameless(acting);
  if (native === undefined || fd === undefined) {
    await createNamed(acting, content, file, signal);
    return;
  }
  try {
    await fill(fd, content, signal);
    dress(fd, file.owner, file.mode);
    making(() => {
      try {
        native.nameFile(fd, at);
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
        replace(at, (name) => native.nameFile(fd, name));
      }
    });
  } finally {
    closeSync(fd);
  }
}

/** Somebody made a file of this name meanwhile: the last writer wins, as for an existing file. */
function replace(at: Buffer, name: (path: Buffer) => void): void {
  const other = Buffer.concat([at.subarray(0, at.lastIndexOf('/') + 1), Buffer.from(`.${randomUUID()}`)]);
  name(other);
  try {
    renameSync(other, at);
  } catch (error) {
    unlinkSync(other);
    throw error;
  }
}

/** Undefined where the file system has no nameless files. */
function openNameless({ found, making }: Acting): number | undefined {
  try {
    return making(() => openSync(found.parent.path, nameless | constants.O_WRONLY, 0o600));
  } catch (error) {
    if (['EOPNOTSUPP', 'EISDIR', 'ENOENT', 'EINVAL'].includes(codeOf(error))) return undefined;
    throw error;
  }
}

/** Without nameless files: under its name from the start, and removed again when something fails. */
async function createNamed(acting: Acting, content: Readable, file: NewFile, signal: AbortSignal): Promise<void> {
  const at = below(acting.found.parent, acting.found.name);
  const fresh = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const fd = acting.making(() => openSync(at, fresh, 0o600));
  try {
    await fill(fd, content, signal);
    dress(fd, file.owner, file.mode);
  } catch (error) {
    unlinkSync(at);
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Owner first: giving a file away takes setuid and setgid from it. */
function dress(fd: number, owner: HostIds, mode: number | undefined): void {
  const stats = fstatSync(fd);
  if (!isOwnedBy(stats, owner)) fchownSync(fd, owner.uid, owner.gid);
  if (mode !== undefined) fchmodSync(fd, mode);
}

/** Reads on while the disk is at work; what came meanwhile is written at once. */
async function fill(fd: number, content: Readable, signal: AbortSignal): Promise<void> {
  let writing: Promise<void> | undefined;
  let [waiting, waitingBytes]: [Buffer[], number] = [[], 0];
  let isIdle = true;
  const begin = (): void => {
    const chunks = waiting;
    [waiting, waitingBytes] = [[], 0];
    isIdle = false;
    writing = writeAll(fd, chunks).finally(() => (isIdle = true));
    // Waited for below; until then a failure is nobody's.
    writing.catch(() => {});
  };
  try {
    // Not destroyed on a failure: a request has to be answered.
    for await (const chunk of content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      waiting.push(chunk);
      waitingBytes += chunk.length;
      if (!isIdle && waitingBytes < maxWaitingBytes) continue;
      await writing;
      begin();
    }
  } finally {
    // The descriptor is closed next, and its number soon means another file.
    await writing;
  }
  signal.throwIfAborted();
  if (waiting.length > 0) await writeAll(fd, waiting);
}

async function writeAll(fd: number, chunks: readonly Buffer[]): Promise<void> {
  let left = chunks;
  while (left.length > 0) left = dropWritten(left, await writeSome(fd, left));
}

function dropWritten(chunks: readonly Buffer[], count: number): readonly Buffer[] {
  let written = count;
  const first = chunks.findIndex((chunk) => {
    if (written < chunk.length) return true;
    written -= chunk.length;
    return false;
  });
  if (first < 0) return [];
  return chunks.slice(first).map((chunk, index) => (index === 0 ? chunk.subarray(written) : chunk));
}

function writeSome(fd: number, chunks: readonly Buffer[]): Promise<number> {
  return new Promise((resolve, reject) => {
    writev(fd, [...chunks], null, (error, count) => {
      if (error === null) resolve(count);
      else reject(error);
    });
  });
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');
