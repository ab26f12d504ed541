// Parses untrusted text in a separate thread, with limits of time and memory: the event loop is never blocked.
import { setImmediate as turn } from 'node:timers/promises';
import { askThread, compiledBeside } from '../lib/shared/ask-thread.ts';
import { ConcurrencyLimit } from '../lib/shared/concurrency-limit.ts';
import { DriverError } from './driver-error.ts';
import type { ParseJob, ParseReply, ParseRequest } from './parse-jobs.ts';

/** A large document of an honest server takes a second or two. */
const timeoutMs = 20_000;
const memoryMb = 256;
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
  if ('error' in reply) throw new DriverError('Invalid', `${what} cannot be read: ${reply.error}`);
  const items: unknown[] = [];
  for (const piece of reply.pieces) {
    items.push(...(JSON.parse(piece) as unknown[]));
    await turn();
  }
  return items;
}

const why = {
  time: `it takes more than ${timeoutMs / 1000} s`,
  memory: 'it needs more memory than may be spent on it',
} as const;

async function ask(request: ParseRequest, what: string, signal: AbortSignal | undefined): Promise<ParseReply> {
  const entry = compiledBeside(import.meta.url, './parse-worker.js');
  const transfer = [request.bytes.buffer as ArrayBuffer];
  const found = await askThread<ParseReply>({ entry, message: request, transfer, timeoutMs, memoryMb }, signal).catch(
    (error: unknown) => {
      signal?.throwIfAborted();
      throw new DriverError('Failed', `reading ${what} failed`, error);
    },
  );
  return 'answer' in found ? found.answer : { error: why[found.exceeded] };
}

export type { ParseJob };
