// Syncs files and directories to the disk, so that acknowledged data survives a power cut.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, lstat, open, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, fileError, hasCode } from './shared/error-code.ts';
import { ifMissing } from './shared/missing-files.ts';

export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Errors of file systems that cannot sync a directory: they write its entries at once, or never guarantee it. */
const cannotSyncDirectories: ReadonlySet<string> = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EISDIR', 'EPERM']);

/** Syncs the names in the directory, not the contents of its files. */
export async function syncDirectory(path: string): Promise<void> {
  await syncFile(path).catch((error: unknown) => {
    if (!cannotSyncDirectories.has(codeOf(error))) throw error;
  });
}

/** Renames the complete file `from` to `to`, durably; both are on one file system. */
export async function moveDurably(from: string, to: string): Promise<void> {
  await syncFile(from);
  await rename(from, to);
  await syncDirectory(dirname(to));
}

/** Either the complete new content or the old one; on the disk when it resolves. `draft` is a free name on the same file system. */
export async function writeDurably(
  path: string,
  content: string | Buffer,
  mode: number,
  draft = `${path}.new`,
): Promise<void> {
  await rm(draft, { force: true, recursive: true });
  await throughDraft(draft, path, content, { bits: mode }, rename);
}

export type FileContent = string | Buffer | AsyncIterable<Uint8Array>;

export interface FileWrite {
  /** Permission bits of a new file, less the umask; an existing one keeps its own. Default: 0666. */
  readonly mode?: number;
  /** Readable by its owner only, whatever the existing one is. */
  readonly isPrivate?: boolean;
  /** False for one of many files: a power cut may lose it. */
  readonly isFlushed?: boolean;
}

/**
 * Writes a file that a user named or that several processes write, whole or not at all; errors name it. Follows a link, and keeps owner
 * and permissions of an existing file. A device or a pipe takes the content as it is.
 */
export function replaceWhole(file: string, content: FileContent, how: FileWrite = {}): Promise<void> {
  return naming(file, content, async (watched) => {
    const path = (await realpath(file).catch(ifMissing)) ?? file;
    const old = await stat(path).catch(ifMissing);
    if (old?.isFile() === false) return writeFile(path, watched);
    const bits = how.isPrivate === true ? 0o600 : old === undefined ? undefined : old.mode & 0o777;
    return throughDraft(draftOf(path), path, watched, { ...how, bits, owner: old }, rename);
  });
}

/** The same for a new file. False if there is one, also because another process was first. */
export function createWhole(file: string, content: FileContent, how: FileWrite = {}): Promise<boolean> {
  return naming(file, content, async (watched) => {
    if ((await lstat(file).catch(ifMissing)) !== undefined) return false;
    try {
      await throughDraft(draftOf(file), file, watched, how, linkOrCopy);
      return true;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
      return false;
    }
  });
}

/** Replaces a file or a link by a symbolic link, or leaves it as it is; errors name it. */
export async function replaceByLink(file: string, target: string): Promise<void> {
  const draft = draftOf(file);
  try {
    await symlink(target, draft);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw fileError(`cannot make the link ${file}`, error);
  }
}

const linkOrCopy = (from: string, to: string): Promise<void> =>
  link(from, to).catch(async (error: unknown) => {
    // A file system without hard links.
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'ENOSYS')) throw error;
    await copyFile(from, to, constants.COPYFILE_EXCL);
    await syncFile(to);
  });

const draftOf = (path: string): string => `${path}.${randomBytes(4).toString('hex')}.new`;

interface DraftWrite extends FileWrite {
  /** Permission bits, whatever the umask is. */
  readonly bits?: number | undefined;
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
}

async function throughDraft(
  draft: string,
  path: string,
  content: FileContent,
  { mode = 0o666, isFlushed, bits, owner }: DraftWrite,
  place: (draft: string, path: string) => Promise<void>,
): Promise<void> {
  try {
    const file = await open(draft, 'wx', bits ?? mode);
    try {
      await writeFile(file, content);
      // Only root may give a file to its owner.
      if (owner !== undefined) await file.chown(owner.uid, owner.gid).catch(() => undefined);
      if (bits !== undefined) await file.chmod(bits);
      if (isFlushed !== false) await file.sync();
    } finally {
      await file.close();
    }
    await place(draft, path);
    if (isFlushed !== false) await syncDirectory(dirname(path));
  } finally {
    await rm(draft, { force: true });
  }
}

/** Names the file in errors, except in those of reading the content. */
async function naming<T>(file: string, content: FileContent, work: (content: FileContent) => Promise<T>): Promise<T> {
  let foreign: unknown;
  const watched = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* chunks;
    } catch (error) {
      foreign = error;
      throw error;
    }
  };
  try {
    return await work(typeof content === 'string' || Buffer.isBuffer(content) ? content : watched(content));
  } catch (error) {
    throw error === foreign ? error : fileError(`cannot write ${file}`, error);
  }
}
