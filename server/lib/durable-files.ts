// Syncs files and directories to the disk, so that acknowledged data survives a power cut.
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './shared/error-code.ts';

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
  const file = await open(draft, 'wx', mode);
  try {
    await file.writeFile(content);
    await file.chmod(mode);
  } finally {
    await file.close();
  }
  await moveDurably(draft, path);
}
