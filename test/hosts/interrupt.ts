// Ends the lane at SIGINT and SIGTERM: its programs and machines end, so that those who wait for them remove what they made.

const controller = new AbortController();

/** Aborts at the first signal. */
export const interrupted: AbortSignal = controller.signal;

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
