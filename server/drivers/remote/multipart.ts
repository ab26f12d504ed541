// Receives a split image from one answer body: the parts metadata and rootfs, in this order.
import type { Hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { driverErrors } from '../driver-error.ts';
import type { ImageTarget } from './driver.ts';
import { saveStream, type Meter } from './save.ts';

/** Both files are complete when it resolves; on a throw parts of them may remain. `hash` sees metadata, then rootfs. */
export async function saveParts(
  answer: { readonly body: Readable; readonly contentType: string; readonly from: string },
  target: ImageTarget,
  hash: Hash,
  measured: Meter,
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const names: string[] = [];
  let saved: Promise<unknown> = Promise.resolve();
  const busboy = openBusboy(answer);
  busboy.on('file', (field: string, part: Readable) => {
    // A part that is never read, or only after the previous one, still needs an error handler.
    part.on('error', () => {});
    names.push(field);
    if (field !== ['metadata', 'rootfs'][names.length - 1]) {
      part.resume();
      return;
    }
    const path = field === 'metadata' ? target.metadataPath : target.rootfsPath;
    saved = saved.then(() => saveStream(part, path, [hash], either));
    saved.catch((error: unknown) => stop.abort(error));
  });
  try {
    await pipeline(answer.body, measured, busboy, { signal: either });
    await saved;
  } catch (error) {
    stop.abort(error);
    await saved.catch(() => {});
    signal.throwIfAborted();
    throw error;
  }
  if (names.join(' ') === 'metadata rootfs') return;
  const list = names.map((name) => JSON.stringify(name.slice(0, 40))).join(', ');
  throw driverErrors.invalid(
    `${answer.from} sends an image of the parts ${list || 'none'}, expected are metadata and rootfs`,
  );
}

function openBusboy(answer: { readonly contentType: string; readonly from: string }): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': answer.contentType },
      limits: { files: 3, fields: 0, parts: 4, headerPairs: 20, fieldNameSize: 100, headerSize: 16_384 },
    });
  } catch (error) {
    throw driverErrors.invalid(`${answer.from} sends an image in parts that cannot be separated`, error);
  }
}
