// Asks a thread one question. The thread begins with the question and ends with the answer, so work that is untrusted or long never
// blocks the event loop.
import { Worker, type Transferable } from 'node:worker_threads';
import { hasCode } from './error-code.ts';

export interface ThreadQuestion {
  /** A compiled module that answers its first message with one message. */
  readonly entry: URL;
  readonly message: unknown;
  /** What moves to the thread; the caller loses it. */
  readonly transfer?: readonly Transferable[];
  readonly timeoutMs: number;
  readonly memoryMb: number;
}

export type ThreadAnswer<T> = { readonly answer: T } | { readonly exceeded: 'time' | 'memory' };

/** Rejects when the thread fails, or with the reason of the abort. */
export async function askThread<T>(question: ThreadQuestion, signal?: AbortSignal): Promise<ThreadAnswer<T>> {
  const { entry, message, transfer = [], timeoutMs, memoryMb } = question;
  signal?.throwIfAborted();
  const resourceLimits = { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 32 };
  // Options of the program, such as hooks of its loader, are not for the thread.
  const worker = new Worker(entry, { resourceLimits, execArgv: [] });
  let timer: NodeJS.Timeout | undefined;
  let aborted = (): void => {};
  try {
    return await new Promise<ThreadAnswer<T>>((resolve, reject) => {
      aborted = () => reject(signal?.reason as Error);
      signal?.addEventListener('abort', aborted, { once: true });
      timer = setTimeout(() => resolve({ exceeded: 'time' }), timeoutMs);
      worker.once('message', (answer: T) => resolve({ answer }));
      worker.once('error', (error) =>
        hasCode(error, 'ERR_WORKER_OUT_OF_MEMORY') ? resolve({ exceeded: 'memory' }) : reject(error),
      );
      worker.once('exit', () => reject(new Error('its thread ended')));
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage(message, transfer);
    });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', aborted);
    await worker.terminate();
  }
}

/** The compiled module `./NAME.js` beside the module of the caller; for a caller in TypeScript, a test run has compiled it before. */
export function compiledBeside(caller: string, path: `./${string}.js`): URL {
  const name = path.slice(2, -3).toUpperCase().replaceAll('-', '_');
  const compiled = process.env[`GANTRY_${name}`];
  return compiled !== undefined && caller.endsWith('.ts') ? new URL(compiled) : new URL(path, caller);
}
