// Keeps the output of a program until it is read, even if the program ends first.
import type { Readable } from 'node:stream';

/** Call it when the program is started, for output that is read piece by piece (`for await`); a listener for `data` would wait forever.
 *  Node discards output without a reader at the end of a program: a reader that opens a file first would miss a program with little output. */
export function keepOutput(output: Readable | null): void {
  output?.on('readable', () => {});
}
