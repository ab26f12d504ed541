// Writes a server's answer to files: counted, limited, paced, hashed, with progress.
import { createWriteStream } from 'node:fs';
import { statfs } from 'node:fs/promises';
import type { Hash } from 'node:crypto';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { hasCode } from '../../lib/shared/error-code.ts';
import { formatBytes } from '../../api/text/byte-size.ts';
import { driverErrors } from '../driver-error.ts';
import type { RemoteLimits } from './driver.ts';

export interface MeterOptions {
  /** The name of the download in messages. */
  readonly what: string;
  /** undefined: the server does not say. */
  readonly expectedBytes: number | undefined;
  readonly maxBytes: number;
  readonly limits: Pick<RemoteLimits, 'paceMs' | 'paceBytes'>;
  readonly report: (progress: string) => void;
  /** See ImageTarget. */
  readonly take?: ((bytes: number) => void) | undefined;
}

export type Meter = (source: Readable) => AsyncGenerator<Buffer>;

const reportEveryMs = 500;

/** A pipeline stage that passes bytes on. Throws Invalid past the limit, Failed if too few arrive. */
export function meter(options: MeterOptions): Meter {
  return async function* measured(source) {
    const { limits, maxBytes, what } = options;
    const started = performance.now();
    let bytes = 0;
    let reported = started;
    let counted = 0;
    const pace = setInterval(() => {
      if (bytes - counted < limits.paceBytes) {
        const text = `${what} comes too slowly: ${bytes - counted} bytes in ${limits.paceMs} ms`;
        source.destroy(driverErrors.failed(text));
      }
      counted = bytes;
    }, limits.paceMs);
    try {
      for await (const chunk of source as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw driverErrors.invalid(`${what} is larger than the ${maxBytes} bytes allowed`);
        options.take?.(chunk.length);
        const now = performance.now();
        if (now - reported >= reportEveryMs) {
          reported = now;
          options.report(progressText(bytes, options.expectedBytes, now - started));
        }
        yield chunk;
      }
      options.report(progressText(bytes, bytes, performance.now() - started));
    } finally {
      clearInterval(pace);
    }
  };
}

/** `12% (3.40MB/s)`; without a known size `1.20MB (3.40MB/s)`. */
export function progressText(bytes: number, expectedBytes: number | undefined, elapsedMs: number): string {
  const speed = formatBytes((bytes * 1000) / Math.max(1, elapsedMs));
  if (expectedBytes === undefined) return `${formatBytes(bytes)} (${speed}/s)`;
  const percent = expectedBytes === 0 ? 100 : Math.min(100, Math.floor((bytes * 100) / expectedBytes));
  return `${percent}% (${speed}/s)`;
}

/** Throws NoSpace if that many bytes do not fit beside the path; resolves to the available room. */
export async function requireRoom(path: string, bytes: number): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(path));
  const free = bavail * bsize;
  if (bytes > free) {
    throw driverErrors.noSpace(
      `the image has ${bytes} bytes, but only ${free} are free for images in ${dirname(path)}`,
    );
  }
  return free;
}

/** Writes a new file and resolves to its size. On a throw a part of it may remain. */
export async function saveStream(
  source: Readable | AsyncIterable<Buffer>,
  path: string,
  hashes: readonly Hash[],
  signal: AbortSignal,
): Promise<number> {
  let bytes = 0;
  const hashed = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      for (const hash of hashes) hash.update(chunk);
      yield chunk;
    }
  };
  try {
    await pipeline(source, hashed, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal });
  } catch (error) {
    signal.throwIfAborted();
    if (hasCode(error, 'ENOSPC', 'EDQUOT'))
      throw driverErrors.noSpace(`cannot write the image ${path}: no space is left`, error);
    throw error;
  }
  return bytes;
}

/** Throws Invalid naming both if it is another image than announced. */
export function checkFingerprint(server: string, expected: string, got: string): void {
  if (got === expected) return;
  throw driverErrors.invalid(
    `the image from ${server} has fingerprint ${got}, expected is ${expected}: it was damaged or exchanged on the way`,
  );
}
