// Copies bytes into open files: from a client, or from another open file.
import { read, writev } from 'node:fs';
import type { Readable } from 'node:stream';

/** Received but not being written yet. */
const maxWaitingBytes = 1024 * 1024;

/** Reads while the disk is busy; writes at once what has arrived. */
export async function fill(fd: number, content: Readable, signal: AbortSignal): Promise<void> {
  let writing: Promise<void> | undefined;
  let [waiting, waitingBytes]: [Buffer[], number] = [[], 0];
  let isIdle = true;
  const begin = (): void => {
    const chunks = waiting;
    [waiting, waitingBytes] = [[], 0];
    isIdle = false;
    writing = writeAll(fd, chunks).finally(() => (isIdle = true));
    // Awaited below; until then a failure would be unhandled.
    writing.catch(() => {});
  };
  try {
    // Not destroyed on a failure: the request still needs an answer.
    for await (const chunk of content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      waiting.push(chunk);
      waitingBytes += chunk.length;
      if (!isIdle && waitingBytes < maxWaitingBytes) continue;
      await writing;
      begin();
    }
  } finally {
    // The descriptor is closed next, and its number is soon reused.
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

/** From its beginning to the position of `to`. */
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
