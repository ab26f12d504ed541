// Waits until a runtime announces a container's end. Does not cause it.
import { driverErrors } from '../driver-error.ts';
import type { RuntimeDriver } from './driver.ts';

/** Listens at once; the returned function then waits for the next stop of `name`. Earlier listeners have been called by then. Rejects with
 *  DriverError Timeout, or with the signal's reason. */
export function nextStop(
  driver: Pick<RuntimeDriver, 'onExit'>,
  name: string,
): (timeoutMs: number | undefined, signal: AbortSignal) => Promise<void> {
  let arrived = (): void => {};
  const stopped = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const off = driver.onExit((exit) => {
    if (exit.name !== name || exit.target !== 'stop') return;
    off();
    arrived();
  });
  return (timeoutMs, signal) =>
    new Promise((resolve, reject) => {
      const finish = (outcome: () => void): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', aborted);
        off();
        outcome();
      };
      const aborted = (): void => finish(() => reject(signal.reason));
      const late = (): void => finish(() => reject(tooLate(name, timeoutMs)));
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      signal.addEventListener('abort', aborted, { once: true });
      if (signal.aborted) aborted();
      void stopped.then(() => finish(resolve));
    });
}

export const tooLate = (name: string, timeoutMs: number | undefined): Error =>
  driverErrors.timeout(`Container "${name}" did not stop in ${timeoutMs} ms`);
