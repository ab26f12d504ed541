// What is done with files of containers beyond single calls: directories on the way, hashes of contents, deletion of what may be gone.
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

/** A body that nobody reads any more; its connection reports that as an error, which nobody would hear. */
export function discard(entry: FileEntry): void {
  if (entry.type !== 'file') return;
  entry.body.on('error', () => {});
  entry.body.destroy();
}

/** undefined: there is nothing at this path. */
export async function readIfThere(files: Files, path: string, signal: AbortSignal): Promise<FileEntry | undefined> {
  try {
    return await files.read(path, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Also those that lead to it, with the usual mode. What is there already stays as it is. */
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

/** One that is gone already is fine. */
export async function deleteIfThere(files: Files, path: string, signal: AbortSignal): Promise<void> {
  try {
    await files.delete(path, signal);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
