// The elements of msgpack: scalars, and the heads of lists and maps. The type of a value selects the elements.
import { ByteWriter } from '../../server/lib/shared/byte-writer.ts';

export class MsgpackError extends Error {
  override readonly name = 'MsgpackError';
}

const codes = {
  nil: 0xc0,
  no: 0xc2,
  yes: 0xc3,
  data8: 0xc4,
  extension8: 0xc7,
  float32: 0xca,
  float64: 0xcb,
  unsigned8: 0xcc,
  unsigned64: 0xcf,
  signed8: 0xd0,
  signed64: 0xd3,
  fixedExt1: 0xd4,
  fixedExt16: 0xd8,
  text8: 0xd9,
  list16: 0xdc,
  map16: 0xde,
} as const;

export class MsgpackWriter extends ByteWriter {
  nil(): void {
    this.byte(codes.nil);
  }

  flag(value: boolean): void {
    this.byte(value ? codes.yes : codes.no);
  }

  text(value: string): void {
    const max = 3 * value.length;
    // The head has room for the longest possible text; a longer head than needed is valid.
    const head = max < 32 ? 1 : max < 0x100 ? 2 : max < 0x1_0000 ? 3 : 5;
    const at = this.room(head + max);
    const length = this.bytes.write(value, at + head);
    if (head === 1) this.bytes[at] = 0xa0 | length;
    else this.#sized(at, codes.text8, head, length);
    this.length = at + head + length;
  }

  /** At most 255 bytes. */
  data(bytes: Uint8Array): void {
    if (bytes.length > 0xff) throw new RangeError('data of more than 255 bytes is not written');
    this.byte(codes.data8);
    this.byte(bytes.length);
    this.copy(bytes);
  }

  #sized(at: number, first: number, head: number, length: number): void {
    this.bytes[at] = first + (head === 2 ? 0 : head === 3 ? 1 : 2);
    if (head === 2) this.bytes[at + 1] = length;
    else if (head === 3) this.bytes.writeUInt16BE(length, at + 1);
    else this.bytes.writeUInt32BE(length, at + 1);
  }

  list(length: number): void {
    this.#many(0x90, codes.list16, length);
  }

  map(length: number): void {
    this.#many(0x80, codes.map16, length);
  }

  #many(short: number, long: number, length: number): void {
    if (length < 16) {
      this.byte(short | length);
      return;
    }
    const at = this.room(length < 0x1_0000 ? 3 : 5);
    this.bytes[at] = length < 0x1_0000 ? long : long + 1;
    if (length < 0x1_0000) this.bytes.writeUInt16BE(length, at + 1);
    else this.bytes.writeUInt32BE(length, at + 1);
  }

  number(value: number | bigint): void {
    if (typeof value === 'number' && !Number.isSafeInteger(value)) {
      const at = this.room(9);
      this.bytes[at] = codes.float64;
      this.bytes.writeDoubleBE(value, at + 1);
    } else if (value >= 0 && value < 0x80) this.byte(Number(value));
    else if (value < 0 && value >= -32) this.byte(0x100 + Number(value));
    else {
      const at = this.room(9);
      this.bytes[at] = value < 0 ? codes.signed64 : codes.unsigned64;
      if (value < 0) this.bytes.writeBigInt64BE(BigInt(value), at + 1);
      else this.bytes.writeBigUInt64BE(BigInt(value), at + 1);
    }
  }

  /** An extension with one zero byte. */
  extension(type: number): void {
    this.byte(codes.fixedExt1);
    this.byte(type);
    this.byte(0);
  }
}

/** Throws MsgpackError for bytes that end too soon or are invalid. */
export class MsgpackReader {
  readonly bytes: Buffer;
  position = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Peeks at the next byte, which is the code of the next element. */
  get next(): number {
    const code = this.bytes[this.position];
    if (code === undefined) throw new MsgpackError('it is cut off');
    return code;
  }

  /** Consumes a null and returns true; otherwise returns false. */
  nil(): boolean {
    if (this.next !== codes.nil) return false;
    this.position += 1;
    return true;
  }

  /** Consumes an extension of any type and returns true; otherwise returns false. */
  extension(): boolean {
    const code = this.next;
    if (code >= codes.fixedExt1 && code <= codes.fixedExt16) this.#take(2 + 2 ** (code - codes.fixedExt1));
    else if (code >= codes.extension8 && code < codes.float32) {
      this.#take(1);
      this.#take(this.#unsigned(2 ** (code - codes.extension8)) + 1);
    } else return false;
    return true;
  }

  /** The length of the next list; undefined when the next element is no list. */
  list(): number | undefined {
    return this.#many(0x90, codes.list16);
  }

  map(): number | undefined {
    return this.#many(0x80, codes.map16);
  }

  #many(short: number, long: number): number | undefined {
    const code = this.next;
    if ((code & 0xf0) === short) {
      this.position += 1;
      return code & 0x0f;
    }
    if (code !== long && code !== long + 1) return undefined;
    this.position += 1;
    return this.#unsigned(code === long ? 2 : 4);
  }

  /** Undefined when the next element is no text. */
  text(): string | undefined {
    const code = this.next;
    let length = code & 0x1f;
    if ((code & 0xe0) === 0xa0) this.position += 1;
    else if (code >= codes.text8 && code < codes.list16) {
      this.position += 1;
      length = this.#unsigned(2 ** (code - codes.text8));
    } else return undefined;
    const at = this.#take(length);
    return this.bytes.toString('utf8', at, at + length);
  }

  /** Skips the next text when its bytes equal `head`, which is the usual case, and returns true. */
  skipText(head: Uint8Array): boolean {
    const { bytes, position } = this;
    for (let index = 0; index < head.length; index += 1) if (bytes[position + index] !== head[index]) return false;
    this.position += head.length;
    return true;
  }

  /** Skips bytes when they are the next element, and returns true. */
  skipData(): boolean {
    const code = this.next;
    if (code < codes.data8 || code >= codes.extension8) return false;
    this.position += 1;
    this.#take(this.#unsigned(2 ** (code - codes.data8)));
    return true;
  }

  flag(): boolean | undefined {
    const code = this.next;
    if (code !== codes.no && code !== codes.yes) return undefined;
    this.position += 1;
    return code === codes.yes;
  }

  number(): number | bigint | undefined {
    const code = this.next;
    if (code < 0x80 || code >= 0xe0) {
      this.position += 1;
      return code < 0x80 ? code : code - 0x100;
    }
    if (code < codes.float32 || code > codes.signed64) return undefined;
    this.position += 1;
    if (code === codes.float32) return this.bytes.readFloatBE(this.#take(4));
    if (code === codes.float64) return this.bytes.readDoubleBE(this.#take(8));
    if (code === codes.unsigned64) return this.bytes.readBigUInt64BE(this.#take(8));
    if (code === codes.signed64) return this.bytes.readBigInt64BE(this.#take(8));
    if (code < codes.unsigned64) return this.#unsigned(2 ** (code - codes.unsigned8));
    const length = 2 ** (code - codes.signed8);
    return this.bytes.readIntBE(this.#take(length), length);
  }

  /** Skips any element. */
  skip(): void {
    if (this.nil() || this.extension() || this.flag() !== undefined || this.number() !== undefined) return;
    if (this.text() !== undefined) return;
    const items = this.list() ?? 2 * (this.map() ?? Number.NaN);
    if (Number.isNaN(items)) throw new MsgpackError(`it has a part of kind ${this.next}, which is not supported`);
    for (let index = 0; index < items; index += 1) this.skip();
  }

  #unsigned(length: number): number {
    return this.bytes.readUIntBE(this.#take(length), length);
  }

  #take(length: number): number {
    const at = this.position;
    this.position += length;
    if (this.position > this.bytes.length) throw new MsgpackError('it is cut off');
    return at;
  }
}
