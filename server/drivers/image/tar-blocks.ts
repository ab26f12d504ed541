// Cuts a stream of bytes into the pieces that a tar reader requests, within a limit; knows no tar.
import { DriverError, driverErrors } from '../driver-error.ts';

export interface ByteReader {
  /** Exactly `size` bytes, or undefined at the end of the stream. An end within them: Invalid. */
  take(size: number, what: string): Promise<Buffer | undefined>;
  /** Between 1 and `size` bytes, as they arrive. The end of the stream: Invalid. */
  some(size: number, what: string): Promise<Buffer>;
  skip(size: number, what: string): Promise<void>;
  /** Bytes taken and skipped so far. */
  position(): number;
}

/** `allowed` is called after every piece: more bytes than it returns are Invalid. */
export function readBytes(source: AsyncIterable<Buffer>, allowed: () => number): ByteReader {
  const chunks = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  let position = 0;
  let received = 0;

  async function more(): Promise<boolean> {
    const { done, value } = await chunks.next();
    if (done === true) return false;
    received += value.length;
    if (received > allowed())
      throw driverErrors.invalid(
        `the image unpacks to more than ${allowed()} bytes, which is more than there is room for`,
      );
    rest = rest.length === 0 ? value : Buffer.concat([rest, value]);
    return true;
  }

  return {
    async take(size, what) {
      while (rest.length < size) {
        if (await more()) continue;
        if (rest.length === 0) return undefined;
        throw cutOff(what);
      }
      const piece = rest.subarray(0, size);
      rest = rest.subarray(size);
      position += size;
      return piece;
    },
    async some(size, what) {
      if (rest.length === 0 && !(await more())) throw cutOff(what);
      const piece = rest.subarray(0, size);
      rest = rest.subarray(piece.length);
      position += piece.length;
      return piece;
    },
    async skip(size, what) {
      let left = size;
      while (left > rest.length) {
        left -= rest.length;
        rest = Buffer.alloc(0);
        if (!(await more())) throw cutOff(what);
      }
      rest = rest.subarray(left);
      position += size;
    },
    position: () => position,
  };
}

export class CutOffError extends DriverError {}

export const cutOff = (what: string): CutOffError => new CutOffError('Invalid', `the image is cut off in ${what}`);
