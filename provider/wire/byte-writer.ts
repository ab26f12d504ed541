// Bytes written one after another into one piece of memory that grows; the codecs of the wire share it. Knows no encoding.

const firstBytes = 16 * 1024;
/** More is given back after use. */
const keptBytes = 1024 * 1024;

/** Used for one whole message after another: `take` ends each, and `clear` begins the next, also after a failure. */
export class ByteWriter {
  bytes = Buffer.allocUnsafeSlow(firstBytes);
  length = 0;

  clear(): void {
    if (this.bytes.length > keptBytes) this.bytes = Buffer.allocUnsafeSlow(firstBytes);
    this.length = 0;
  }

  /** A copy of all that was written since `clear`. */
  take(): Buffer {
    return Buffer.from(this.bytes.subarray(0, this.length));
  }

  /** Makes room for so many more, and returns where they begin; whoever asks writes them all. */
  room(count: number): number {
    const at = this.length;
    this.length += count;
    if (this.length > this.bytes.length) this.#grow(at);
    return at;
  }

  byte(value: number): void {
    this.bytes[this.room(1)] = value;
  }

  copy(from: Uint8Array): void {
    this.bytes.set(from, this.room(from.length));
  }

  /** The last `count` bytes move by `by`, to make room before them. */
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
