// One request with its whole answer, at the lowest cost: no stream, no signal of its own. Does not interpret the answer.
import type { Dispatcher } from 'undici';
import { whenAborted } from '../../lib/shared/abort-calls.ts';
import { DeadlineError, longestTimerMs } from '../../lib/shared/deadline.ts';
import type { Headers } from './reply.ts';

export interface WholeReply {
  readonly statusCode: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface ExchangeLimits {
  /** Limit of the whole call; undefined: none. */
  readonly timeoutMs: number | undefined;
  /** Limit without a byte from the server; undefined: none. */
  readonly silentMs?: number | undefined;
  /** Max bytes of the answer's body. */
  readonly maxBytes: number;
}

/** The answer is longer than allowed. */
export class TooLongError extends Error {
  override readonly name = 'TooLongError';
}

/** Rejects with the reason of `signal`, with DeadlineError, with TooLongError, or with the connection's error; any HTTP status resolves. An
 *  abandoned request is ended together with its connection, or never sent. */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  { timeoutMs, silentMs, maxBytes }: ExchangeLimits,
  signal: AbortSignal | undefined,
): Promise<WholeReply> {
  if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let failure: Error | undefined;
    const settled = (): void => {
      clearTimeout(timer);
      clearTimeout(silence);
      withdraw?.();
    };
    const giveUp = (error: Error): void => {
      failure = error;
      settled();
      reject(error);
      controller?.abort(error);
    };
    const expire = (): void => giveUp(new DeadlineError(`no answer in ${timeoutMs ?? 0} ms`));
    const timer = timeoutMs === undefined ? undefined : setTimeout(expire, Math.min(timeoutMs, longestTimerMs));
    const mute = (): void => giveUp(new DeadlineError(`the server sent nothing for ${silentMs ?? 0} ms`));
    const silence = silentMs === undefined ? undefined : setTimeout(mute, Math.min(silentMs, longestTimerMs));
    const withdraw = signal && whenAborted(signal, () => giveUp(signal.reason as Error));
    let statusCode = 0;
    let headers: Headers = {};
    let size = 0;
    const chunks: Buffer[] = [];
    dispatcher.dispatch(options, {
      onRequestStart(started) {
        controller = started;
        // It was queued for a free connection and is no longer needed.
        if (failure !== undefined) started.abort(failure);
      },
      onResponseStart(_controller, status, received) {
        statusCode = status;
        headers = received;
        silence?.refresh();
      },
      onResponseData(_controller, chunk) {
        size += chunk.length;
        silence?.refresh();
        if (size > maxBytes) giveUp(new TooLongError(`the answer is larger than ${maxBytes} bytes`));
        else chunks.push(chunk);
      },
      onResponseEnd() {
        settled();
        resolve({ statusCode, headers, text: Buffer.concat(chunks, size).toString('utf8') });
      },
      onResponseError(_controller, error) {
        settled();
        reject(error);
      },
    });
  });
}
