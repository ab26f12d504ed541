// Moves bytes into open files: what a client sends, or what another open file has.
import { read, writev } from 'node:fs';
import type { Readable } from 'node:stream';

/** Received and not yet being written. */
const maxWaitingBytes = 1024 * 1024;

/** Reads on while the disk is at work; what came meanwhile is written at once. */
export async function fill(fd: number, content: Readable, signal: AbortSignal): Promise<void> {
  let writing: Promise<void> | undefined;
  let [waiting, waitingBytes]: [Buffer[], number] = [[], 0];
  let isIdle = true;
  const begin = (): void => {
    const chunks = waiting;
    [waiting, waitingBytes] = [[], 0];
    isIdle = false;
    writing = writeAll(fd, chunks).finally(() => (isIdle = true));
    // Waited for below; until then nothing handles a failure.
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

/** From its begin to where `to` stands. */
export async function copyBytes(from: number, to: number, signal: AbortSignal): Promise<void> {
  const chunk = Buffer.allocUnsafeSlow(maxWaitingBytes);
  for (let position = 0; ;) {
    signal.throwIfAborted();
    const count = await readAt(from, chunk, position);
    if (count === 0) return;
    await writeAll(to, [chunk.subarray(0, count)]);
    position += count;
  }
}

function readAt(fd: number, chunk: Buffer, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    read(fd, chunk, 0, chunk.length, position, (error, count) => {
      if (error === null) resolve(count);
      else reject(error);
    });
  });
}
