// Files without a name until they are complete: a broken upload or a killed daemon leaves the old file.
import { randomUUID } from 'node:crypto';
import { closeSync, constants, linkSync, openSync, readdirSync, renameSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { codeOf } from '../../lib/shared/error-code.ts';
import type { Acting } from './change-entry.ts';
import { below } from './held-entry.ts';

export interface UnnamedFile {
  /** Open for reading and writing. */
  readonly fd: number;
  /** Names it, replacing any existing file. */
  moveTo(at: Buffer): void;
  /** Names it unless something has that name; false: something has. */
  moveToFree(at: Buffer): boolean;
  /** Deletes it unless it has been named. */
  close(): void;
}

/** O_TMPFILE, which Node does not name: a nameless file, deleted with its last descriptor. */
const nameless = 0o20000000 | constants.O_DIRECTORY;
const prefix = '.gantry-upload-';
const temporaryName = /^\.gantry-upload-[0-9a-f-]{36}$/;
/** Temporary names of this process. */
const inUse = new Set<string>();

/** In the target directory. Throws the errors of open(2). */
export function openUnnamed(acting: Acting): UnnamedFile {
  const { found, native, making } = acting;
  const fd = native === undefined ? undefined : making(() => openNameless(found.parent.path));
  if (native === undefined || fd === undefined) return openTemporary(acting);
  return {
    fd,
    moveTo: (at) =>
      making(() => {
        if (!wasFree(() => native.nameFile(fd, at))) replace(at, (name) => native.nameFile(fd, name));
      }),
    moveToFree: (at) => making(() => wasFree(() => native.nameFile(fd, at))),
    close: () => closeSync(fd),
  };
}

function wasFree(name: () => void): boolean {
  try {
    name();
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return false;
  }
}

/** Without `moveTo` it can only be read back. */
export type Spool = Pick<UnnamedFile, 'fd' | 'close'> & Partial<UnnamedFile>;

/** In the directory if possible, otherwise among the daemon's own temporary files. */
export function openSpool(acting: Acting): Spool {
  try {
    return openUnnamed(acting);
  } catch (error) {
    if (!cannotMakeThere.has(codeOf(error))) throw error;
    const fd = openNameless(Buffer.from(tmpdir()));
    if (fd === undefined) throw error;
    return { fd, close: () => closeSync(fd) };
  }
}

/** Errors of a directory that accepts no new file although its files may be written. */
export const cannotMakeThere: ReadonlySet<string> = new Set([
  'EACCES',
  'EBUSY',
  'EOPNOTSUPP',
  'EOVERFLOW',
  'EPERM',
  'EROFS',
  'EXDEV',
]);

function replace(at: Buffer, name: (path: Buffer) => void): void {
  const other = Buffer.concat([at.subarray(0, at.lastIndexOf('/') + 1), Buffer.from(`${prefix}${randomUUID()}`)]);
  name(other);
  try {
    renameSync(other, at);
  } catch (error) {
    unlinkSync(other);
    throw error;
  }
}

/** Undefined if the file system has no nameless files. */
function openNameless(directory: Buffer): number | undefined {
  try {
    return openSync(directory, nameless | constants.O_RDWR, 0o600);
  } catch (error) {
    if (['EOPNOTSUPP', 'EISDIR', 'ENOENT', 'EINVAL'].includes(codeOf(error))) return undefined;
    throw error;
  }
}

/** Without nameless files: under a temporary name. First removes leftovers of a killed daemon in the directory. */
function openTemporary({ found, making }: Acting): UnnamedFile {
  for (const name of readdirSync(found.parent.path))
    if (temporaryName.test(name) && !inUse.has(name)) removeLeftover(below(found.parent, Buffer.from(name)));
  const name = `${prefix}${randomUUID()}`;
  const path = below(found.parent, Buffer.from(name));
  const fresh = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const fd = making(() => openSync(path, fresh, 0o600));
  inUse.add(name);
  let isMoved = false;
  return {
    fd,
    moveTo(at) {
      making(() => renameSync(path, at));
      isMoved = true;
    },
    moveToFree: (at) => making(() => wasFree(() => linkSync(path, at))),
    close() {
      closeSync(fd);
      inUse.delete(name);
      if (!isMoved) unlinkSync(path);
    },
  };
}

function removeLeftover(path: Buffer): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone already, or a program in the container made a directory of this name.
  }
}
