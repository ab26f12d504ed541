// Counts the bytes of an upload as they are sent.
import { Readable } from 'node:stream';

export type OnSent = (sentBytes: number, totalBytes: number) => void;

/** Counts nothing without a listener, or if the total is unknown. */
export function counted(source: Readable, totalBytes: number | undefined, onSent: OnSent | undefined): Readable {
  if (onSent === undefined || totalBytes === undefined) return source;
  return Readable.from(
    (async function* () {
      let sentBytes = 0;
      for await (const chunk of source as AsyncIterable<Buffer>) {
        sentBytes += chunk.length;
        onSent(sentBytes, totalBytes);
        yield chunk;
      }
    })(),
    { objectMode: false },
  );
}
