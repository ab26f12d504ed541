// Joins small chunks of a stream into larger ones: each chunk costs time downstream.

const usualBytes = 256 * 1024;

/** The same bytes, in chunks of at least `size` bytes except the last. */
export async function* gather(source: AsyncIterable<Buffer>, size = usualBytes): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const piece of source) {
    waiting.push(piece);
    bytes += piece.length;
    if (bytes < size) continue;
    yield waiting.length === 1 ? piece : Buffer.concat(waiting, bytes);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting, bytes);
}
