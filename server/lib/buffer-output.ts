// Keeps what a program wrote until somebody reads it, also when the program ends before that.
import type { Readable } from 'node:stream';

/**
 * To be called when the program is started, for output that is read piece by piece (`for await`): one that listens for `data` would
 * wait for ever. At the end of a program Node lets output flow that nobody listens to yet, and so
 * loses it: a reader that opens a file first comes too late for a program with little output.
 */
export function keepOutput(output: Readable | null): void {
  output?.on('readable', () => {});
}
