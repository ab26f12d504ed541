// A growing buffer for successive bytes; the wire codecs share it. Knows no encoding.

const firstBytes = 16 * 1024;
/** A larger buffer is released after use. */
const keptBytes = 1024 * 1024;

/** Reused for successive messages: `take` ends a message, and `clear` begins the next one, also after a failure. */
export class ByteWriter {
  bytes = Buffer.allocUnsafeSlow(firstBytes);
  length = 0;

  clear(): void {
    if (this.bytes.length > keptBytes) this.bytes = Buffer.allocUnsafeSlow(firstBytes);
    this.length = 0;
  }

  /** A copy of the bytes written since `clear`. */
  take(): Buffer {
    return Buffer.from(this.bytes.subarray(0, this.length));
  }

  /** Reserves this many bytes and returns their start; the caller writes them all, into `bytes` as it is after this call. */
  room(count: number): number {
    const at = this.length;
    this.length += count;
    if (this.length > this.bytes.length) this.#grow(at);
    return at;
  }

  byte(value: number): void {
    const at = this.room(1);
    this.bytes[at] = value;
  }

  copy(from: Uint8Array): void {
    const at = this.room(from.length);
    this.bytes.set(from, at);
  }

  /** Moves the last `count` bytes by `by`, to make room before them. */
  shift(count: number, by: number): void {
    const at = this.room(by) - count;
    this.bytes.copyWithin(at + by, at, at + count);
  }

  #grow(used: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, this.length));
    grown.set(this.bytes.subarray(0, used));
    this.bytes = grown;
  }
}
