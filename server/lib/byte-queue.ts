// Takes pieces of requested sizes from a stream of chunks of any size. Holds one chunk.

export interface ByteQueue {
  /** Exactly `size` bytes, in memory. */
  take(size: number): Promise<Buffer>;
  /** At least one byte, at most `size`. */
  some(size: number): Promise<Buffer>;
  /** `size` bytes, in chunks as they arrive. */
  pass(size: number): AsyncGenerator<Buffer>;
  /** Reads to the end, where the source may report a failure. */
  drain(): Promise<void>;
}

/** `cutOff` makes the error for a source that ends too early. */
export function byteQueue(source: AsyncIterable<Buffer>, cutOff: () => Error): ByteQueue {
  const chunks = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const next = async (): Promise<Buffer> => {
    const { done, value } = await chunks.next();
    if (done === true) throw cutOff();
    return value;
  };
  const cut = (size: number): Buffer => {
    const piece = rest.subarray(0, size);
    rest = rest.subarray(piece.length);
    return piece;
  };
  const some = async (size: number): Promise<Buffer> => {
    while (rest.length === 0) rest = await next();
    return cut(size);
  };
  return {
    async take(size) {
      while (rest.length < size) rest = Buffer.concat([rest, await next()]);
      return cut(size);
    },
    some,
    async *pass(size) {
      for (let left = size; left > 0;) {
        const piece = await some(left);
        left -= piece.length;
        yield piece;
      }
    },
    async drain() {
      while ((await chunks.next()).done !== true);
    },
  };
}
