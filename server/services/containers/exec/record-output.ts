// Writes a command's output to a log file, up to a limit: the rest is read and counted, so that the command continues.
import { createWriteStream } from 'node:fs';
import { Transform, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Max bytes of each of the two outputs. */
export const maxRecordedBytes = 16 * 1024 * 1024;

/** Resolves to the number of omitted bytes. */
export async function recordOutput(
  stream: Readable | undefined,
  path: string,
  maxBytes: number = maxRecordedBytes,
): Promise<number> {
  let [kept, dropped] = [0, 0];
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const piece = chunk.subarray(0, maxBytes - kept);
      kept += piece.length;
      dropped += chunk.length - piece.length;
      if (piece.length > 0) this.push(piece);
      done();
    },
  });
  await pipeline(stream ?? [], limit, createWriteStream(path, { mode: 0o600 }));
  return dropped;
}
