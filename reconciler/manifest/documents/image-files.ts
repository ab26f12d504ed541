// Reads the facts of image files that a plan needs: existence, size, fingerprint. The engine uploads them.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ImageFiles } from '../../core/documents/document.ts';
import { inFence } from '../text/fence.ts';
import { wrong, type Finding } from '../text/finding.ts';
import type { ImageCache } from '../load-contract.ts';
import { neighbour } from '../text/sources.ts';

/** Makes paths absolute against `folder`; if `read`, adds fingerprint and size, from `cache` where it has them. */
export async function readImageFiles(
  files: ImageFiles,
  folder: string,
  read: boolean,
  signal?: AbortSignal,
  cache: ImageCache = new Map(),
): Promise<{ readonly files: ImageFiles; readonly findings: readonly Finding[] }> {
  const parts = absoluteParts(files.parts, folder);
  const entries = Object.entries(parts) as readonly (readonly [string, string])[];
  const sizes = await Promise.all(entries.map(async ([key, file]) => sizeOf(key, file)));
  const findings = sizes.filter((size) => typeof size !== 'number');
  if (findings.length > 0 || !read) return { files: { parts }, findings };
  const sizeBytes = sizes.reduce<number>((sum, size) => sum + (size as number), 0);
  const key = entries.map(([, file]) => file).join('\0');
  let known = cache.get(key);
  if (known === undefined) cache.set(key, (known = fingerprintOf(entries, sizeBytes, signal)));
  return { files: { parts, ...(await known) }, findings };
}

async function fingerprintOf(
  entries: readonly (readonly [string, string])[],
  sizeBytes: number,
  signal: AbortSignal | undefined,
): Promise<Pick<ImageFiles, 'fingerprint' | 'sizeBytes'>> {
  // The fingerprint of a split image covers the metadata followed by the root file system (real-world 14.1).
  const hash = createHash('sha256');
  for (const [, file] of entries)
    await pipeline(createReadStream(file), async (chunks) => feed(hash, chunks), { signal });
  return { fingerprint: hash.digest('hex'), sizeBytes };
}

async function feed(hash: { update: (chunk: Buffer) => unknown }, chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const chunk of chunks) hash.update(chunk);
}

function absoluteParts(parts: ImageFiles['parts'], folder: string): ImageFiles['parts'] {
  if ('file' in parts) return { file: resolve(folder, parts.file) };
  return { metadata: resolve(folder, parts.metadata), rootfs: resolve(folder, parts.rootfs) };
}

async function sizeOf(key: string, file: string): Promise<number | Finding> {
  try {
    const found = await stat(inFence(file));
    if (found.isFile()) return found.size;
    return wrong('not-a-file', key, `${file} is not a file`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) return wrong('file-not-found', key, message);
    const reason = code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    return wrong(
      'file-not-found',
      key,
      `${file} ${reason}${await neighbour(file)}`,
      'paths are relative to the manifest',
    );
  }
}
