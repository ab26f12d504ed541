// Joins small chunks of a stream into larger ones: each chunk costs time downstream.

const minBytes = 256 * 1024;

/** The same bytes, in chunks of at least 256 KiB except the last. */
export async function* gather(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const piece of source) {
    waiting.push(piece);
    bytes += piece.length;
    if (bytes < minBytes) continue;
    yield waiting.length === 1 ? piece : Buffer.concat(waiting, bytes);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting, bytes);
}
