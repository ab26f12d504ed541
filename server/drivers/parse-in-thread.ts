// Parses untrusted text in a separate thread, with limits of time and memory: the event loop is never blocked.
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { ConcurrencyLimit } from '../lib/shared/concurrency-limit.ts';
import { hasCode } from '../lib/shared/error-code.ts';
import { driverErrors } from './driver-error.ts';
import type { ParseJob, ParseReply, ParseRequest } from './parse-jobs.ts';

/** A large document of an honest server takes a second or two. */
const timeoutMs = 20_000;
const memoryLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 };
/** Each takes a processor and up to the memory above. */
const threads = new ConcurrencyLimit(2);

/** The job's result for the text. Its bytes move to the thread: the caller's array is empty afterwards. `what` names the text in messages.
 *  Throws DriverError Invalid, or the reason of the abort. */
export async function parseAside(
  request: ParseRequest,
  what: string,
  signal?: AbortSignal,
): Promise<readonly unknown[]> {
  const reply = await threads.run(() => ask(request, what, signal));
  if ('error' in reply) throw driverErrors.invalid(`${what} cannot be read: ${reply.error}`);
  const items: unknown[] = [];
  for (const piece of reply.pieces) {
    items.push(...(JSON.parse(piece) as unknown[]));
    await turn();
  }
  return items;
}

async function ask(request: ParseRequest, what: string, signal: AbortSignal | undefined): Promise<ParseReply> {
  signal?.throwIfAborted();
  const worker = new Worker(workerUrl(), { resourceLimits: memoryLimits });
  let timer: NodeJS.Timeout | undefined;
  let aborted = (): void => {};
  try {
    return await new Promise<ParseReply>((resolve, reject) => {
      const refuse = (why: string): void => reject(driverErrors.invalid(`${what} cannot be read: ${why}`));
      aborted = () => reject(signal?.reason as Error);
      signal?.addEventListener('abort', aborted, { once: true });
      timer = setTimeout(() => refuse(`it takes more than ${timeoutMs / 1000} s`), timeoutMs);
      worker.once('message', resolve);
      worker.once('error', (error) =>
        hasCode(error, 'ERR_WORKER_OUT_OF_MEMORY')
          ? refuse('it needs more memory than may be spent on it')
          : reject(driverErrors.failed(`reading ${what} failed`, error)),
      );
      worker.once('exit', () => reject(driverErrors.failed(`reading ${what} failed: its thread ended`)));
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage(request, [request.bytes.buffer as ArrayBuffer]);
    });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', aborted);
    await worker.terminate();
  }
}

/** The compiled worker is next to this file; when run from TypeScript, it must have been compiled before. */
function workerUrl(): URL {
  const compiled = process.env['GANTRY_PARSE_WORKER'];
  if (compiled !== undefined && import.meta.url.endsWith('.ts')) return new URL(compiled);
  return new URL('./parse-worker.js', import.meta.url);
}

export type { ParseJob };
