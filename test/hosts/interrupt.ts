// Ends the lane at SIGINT and SIGTERM: its programs and machines end, so that those who wait for them remove what they made.
import { setMaxListeners } from 'node:events';

const controller = new AbortController();

/** Aborts at the first signal. */
export const interrupted: AbortSignal = controller.signal;
// Each program that runs listens, and a disk of packages starts many at once.
setMaxListeners(0, interrupted);

const codes = { SIGINT: 130, SIGTERM: 143 } as const;

/** The exit code of an interrupted lane. */
export const interruptedCode = (): number | undefined =>
  interrupted.aborted ? (interrupted.reason as Interrupted).code : undefined;

class Interrupted extends Error {
  readonly code: number;
  constructor(name: keyof typeof codes) {
    super(`the lane was interrupted by ${name}`);
    this.code = codes[name];
  }
}

/** A second signal ends the process at once. */
export function endOnSignals(): void {
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort(new Interrupted(name)));
}
