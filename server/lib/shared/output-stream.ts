// Writes text to a standard stream whose reader may close it at any time: reports a failure once, and never throws.
import type { Writable } from 'node:stream';

/** `reader-gone`: the reader closed the pipe or terminal. `failed`: the text cannot be stored, as on a full disk. */
export type OutputLoss = 'reader-gone' | 'failed';

export interface OutputStream {
  /** Does nothing once the stream is lost. */
  write(text: string): void;
}

const readerGone = new Set([
  'EPIPE',
  'ECONNRESET',
  'EIO',
  'ENXIO',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
]);

export const lossOf = (error: Error & { readonly code?: string }): OutputLoss =>
  readerGone.has(error.code ?? '') ? 'reader-gone' : 'failed';

/** Without a listener, the error of a closed stream becomes an uncaught exception; a handler that reports it on the same stream then causes
 *  the next one, in an endless loop. `lost` is called at most once, and must not write to the stream. */
export function guardOutput(stream: Writable, lost: (loss: OutputLoss, error: Error) => void): OutputStream {
  let isLost = false;
  const lose = (error: Error): void => {
    if (isLost) return;
    isLost = true;
    lost(lossOf(error), error);
  };
  stream.on('error', lose);
  return {
    write(text) {
      if (isLost) return;
      try {
        stream.write(text);
      } catch (error) {
        // Files are written synchronously, and some versions of Node throw instead of emitting.
        lose(error instanceof Error ? error : new Error(String(error)));
      }
    },
  };
}
