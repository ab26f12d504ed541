// Keeps the output of a program until it is read, also when the program ends before that.
import type { Readable } from 'node:stream';

/**
 * Call it when the program is started, for output that is read piece by piece (`for await`); a listener for `data` would wait forever.
 * At the end of a program Node discards output without a reader: a reader that opens a file first comes too late for a program with
 * little output.
 */
export function keepOutput(output: Readable | null): void {
  output?.on('readable', () => {});
}
