// Reads a stream whole, up to a limit.

/** Throws what `tooLong` makes at the first byte beyond `maxBytes`. */
export async function readWhole(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
  tooLong: () => Error,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of chunks) {
    size += part.length;
    if (size > maxBytes) throw tooLong();
    parts.push(part);
  }
  return Buffer.concat(parts, size);
}
