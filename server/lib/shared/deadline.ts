// Combines time limits with the caller's abort signal, leaving no listeners behind on long-lived signals.
import { whenAborted } from './abort-calls.ts';

/** Some 24 days. Node fires a longer timer at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** Thrown inside `within` on a timeout; callers translate it into their own message. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Runs `work` with a signal that aborts with `signal` or after `timeoutMs` (undefined: no limit). Rejects with the reason of `signal` if
 *  that aborted, with DeadlineError on a timeout, else with what `work` threw. */
export async function within<T>(
  timeoutMs: number | undefined,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const withdraw = signal && whenAborted(signal, () => controller.abort(signal.reason));
  const expire = (): void => controller.abort(new DeadlineError(`no answer in ${timeoutMs ?? 0} ms`));
  const timer = timeoutMs === undefined ? undefined : setTimeout(expire, Math.min(timeoutMs, longestTimerMs));
  try {
    return await work(controller.signal);
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason;
    throw error;
  } finally {
    clearTimeout(timer);
    withdraw?.();
  }
}

/** Aborts with `signal`, or after `ms`. */
export function withLimit(signal: AbortSignal | undefined, ms: number): AbortSignal {
  const limit = AbortSignal.timeout(ms);
  if (signal === undefined) return limit;
  // Without a listener Node 20 collects as garbage what only `any` refers to, and the limit never comes.
  limit.addEventListener('abort', () => {}, { once: true });
  return AbortSignal.any([signal, limit]);
}

export const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else whenAborted(signal, resolve);
  });

/** Resolves after `ms`; rejects with the reason of `signal`. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (ms > longestTimerMs) return pause(longestTimerMs, signal).then(() => pause(ms - longestTimerMs, signal));
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      withdraw?.();
      resolve();
    }, ms);
    const withdraw = signal && whenAborted(signal, abort);
  });
}
