// Helpers for files of containers beyond single calls: parent directories, content hashes, and deletion of entries that may be missing.
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { isNotFound } from '../client-error.ts';
import type { FileEntry, Files } from './container-files.ts';

/** SHA-256, hexadecimal. Reads the stream to its end. */
export async function sha256Of(stream: Readable | AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of stream as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}

/** Discards an unread body; its connection would report an unhandled error. */
export function discard(entry: FileEntry): void {
  if (entry.type !== 'file') return;
  entry.body.on('error', () => {});
  entry.body.destroy();
}

/** undefined: not found. */
export async function readIfThere(files: Files, path: string, signal: AbortSignal): Promise<FileEntry | undefined> {
  try {
    return await files.read(path, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Also its parent directories, with the default mode. Existing ones stay unchanged. */
export async function makeDirectories(files: Files, path: string, signal: AbortSignal): Promise<void> {
  const steps = path.split('/').filter((step) => step !== '');
  const missing: string[] = [];
  for (let count = steps.length; count > 0; count -= 1) {
    const directory = `/${steps.slice(0, count).join('/')}`;
    const found = await readIfThere(files, directory, signal);
    if (found !== undefined) {
      discard(found);
      break;
    }
    missing.unshift(directory);
  }
  for (const directory of missing) await files.makeDirectory(directory, { mode: 0o755 }, signal);
}

/** Accepts a missing one. */
export async function deleteIfThere(files: Files, path: string, signal: AbortSignal): Promise<void> {
  try {
    await files.delete(path, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
