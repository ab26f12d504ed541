// A small protocol buffers codec: tables of fields define the messages and their TypeScript types. Knows no message.
import { ByteWriter } from './byte-writer.ts';

export interface Field<T> {
  readonly number: number;
  readonly wireType: 0 | 2;
  readonly initial: () => T;
  /** `before` is the value so far: a repeated field grows, any other is replaced. */
  readonly read: (reader: Reader, before: T) => T;
  /** The occurrences to write; none for the default. */
  readonly write: (value: T, writer: Writer, key: number) => void;
}

// oxlint-disable-next-line typescript/no-explicit-any -- the only type that any field's type fits, whichever way it is used
type AnyField = Field<any>;
export type Fields = Readonly<Record<string, AnyField>>;
type ValueOf<F> = F extends Field<infer T> ? T : never;
export type MessageOf<M> = M extends Message<infer F> ? { readonly [Name in keyof F]: ValueOf<F[Name]> } : never;
export type Init<F extends Fields> = { readonly [Name in keyof F]?: ValueOf<F[Name]> | undefined };

export interface Message<F extends Fields> {
  readonly fields: F;
  decode(bytes: Uint8Array): { readonly [Name in keyof F]: ValueOf<F[Name]> };
  encode(value: Init<F>): Buffer;
  /** The codec of a message inside another message. */
  write(value: Init<F>, writer: Writer): void;
}

export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
}

export class Reader {
  readonly bytes: Uint8Array;
  position = 0;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Above 2^53 returns the nearest number: no field of the protocol needs more. Negative numbers take ten bytes. */
  varint(): number {
    let value = 0;
    for (let [shift, at] = [0, this.position]; shift < 28; shift += 7, at += 1) {
      const byte = this.bytes[at];
      if (byte === undefined) throw new ProtobufError('a number is cut off');
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.position = at + 1;
        return value;
      }
    }
    return this.#longVarint();
  }

  #longVarint(): number {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.position];
      if (byte === undefined) throw new ProtobufError('a number is cut off');
      this.position += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(BigInt.asIntN(64, value));
    }
    throw new ProtobufError('a number is longer than ten bytes');
  }

  chunk(): Uint8Array {
    const length = this.varint();
    const end = this.position + length;
    if (length < 0 || end > this.bytes.length) throw new ProtobufError('a field is longer than its message');
    const chunk = this.bytes.subarray(this.position, end);
    this.position = end;
    return chunk;
  }

  skip(wireType: number): void {
    if (wireType === 0) this.varint();
    else if (wireType === 2) this.chunk();
    else if (wireType === 1 || wireType === 5) this.position += wireType === 1 ? 8 : 4;
    else throw new ProtobufError(`unknown wire type ${wireType}`);
    if (this.position > this.bytes.length) throw new ProtobufError('a field is longer than its message');
  }
}

export class Writer extends ByteWriter {
  varint(value: number): void {
    if (value >= 0 && value < 0x80) {
      this.byte(value);
      return;
    }
    if (value < 0 || value > 0x7fff_ffff) {
      this.#longVarint(value);
      return;
    }
    let left = value;
    for (; left >= 0x80; left >>>= 7) this.byte((left & 0x7f) | 0x80);
    this.byte(left);
  }

  #longVarint(value: number): void {
    let left = BigInt.asUintN(64, BigInt(value));
    for (; left >= 0x80n; left >>= 7n) this.byte(Number(left & 0x7fn) | 0x80);
    this.byte(Number(left));
  }

  chunk(key: number, bytes: Uint8Array): void {
    this.varint(key);
    this.varint(bytes.length);
    this.copy(bytes);
  }

  text(key: number, text: string): void {
    const at = this.open(key);
    // A UTF-16 unit takes at most three bytes in UTF-8.
    this.room(3 * text.length);
    this.length = at + this.bytes.write(text, at);
    this.close(at);
  }

  /** Begins a chunk whose length `close` fills in. */
  open(key: number): number {
    this.varint(key);
    this.byte(0);
    return this.length;
  }

  close(at: number): void {
    const length = this.length - at;
    let more = 0;
    for (let left = length; left >= 0x80; left >>>= 7) more += 1;
    if (more > 0) this.shift(length, more);
    const end = this.length;
    this.length = at - 1;
    this.varint(length);
    this.length = end;
  }
}

const empty = Buffer.alloc(0);
const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');

export const text = (number: number): Field<string> => ({
  number,
  wireType: 2,
  initial: () => '',
  read: (reader) => textOf(reader.chunk()),
  write: (value, writer, key) => {
    if (value !== '') writer.text(key, value);
  },
});

export const bytes = (number: number): Field<Uint8Array> => ({
  number,
  wireType: 2,
  initial: () => empty,
  read: (reader) => reader.chunk(),
  write: (value, writer, key) => {
    if (value.length > 0) writer.chunk(key, value);
  },
});

export const flag = (number: number): Field<boolean> => ({
  number,
  wireType: 0,
  initial: () => false,
  read: (reader) => reader.varint() !== 0,
  write: (value, writer, key) => {
    if (!value) return;
    writer.varint(key);
    writer.varint(1);
  },
});

export const integer = (number: number): Field<number> => ({
  number,
  wireType: 0,
  initial: () => 0,
  read: (reader) => reader.varint(),
  write: (value, writer, key) => {
    if (value === 0) return;
    writer.varint(key);
    writer.varint(value);
  },
});

/** A field that distinguishes absent from zero. */
export const optional = <T>(field: Field<T>): Field<T | undefined> => ({
  number: field.number,
  wireType: field.wireType,
  initial: () => undefined,
  read: (reader) => field.read(reader, field.initial()),
  write: (value, writer, key) => {
    if (value === undefined) return;
    const before = writer.length;
    field.write(value, writer, key);
    if (writer.length > before) return;
    // The field omits its default: an empty chunk or a zero.
    writer.varint(key);
    writer.varint(0);
  },
});

/** Calls `of` at first use, so that messages may contain themselves. */
export const message = <M extends Message<Fields>>(number: number, of: () => M): Field<MessageOf<M> | undefined> => ({
  number,
  wireType: 2,
  initial: () => undefined,
  read: (reader) => of().decode(reader.chunk()) as MessageOf<M>,
  write: (value, writer, key) => {
    if (value === undefined) return;
    const at = writer.open(key);
    of().write(value, writer);
    writer.close(at);
  },
});

export const repeated = <T>(field: Field<T>): Field<readonly NonNullable<T>[]> => ({
  number: field.number,
  wireType: 2,
  initial: () => [],
  // In place: otherwise a message of many items would be copied once for each.
  read: (reader, before) => {
    (before as NonNullable<T>[]).push(field.read(reader, field.initial()) as NonNullable<T>);
    return before;
  },
  write: (values, writer, key) => {
    for (const value of values) optional(field).write(value, writer, key);
  },
});

/** A map from text to message. */
export const mapped = <M extends Message<Fields>>(
  number: number,
  of: () => M,
): Field<Readonly<Record<string, MessageOf<M>>>> => {
  const entry = defineMessage({ key: text(1), value: message(2, of) });
  return {
    number,
    wireType: 2,
    initial: () => ({}),
    read: (reader, before) => {
      const { key, value } = entry.decode(reader.chunk());
      return { ...before, [key]: value ?? (of().decode(empty) as MessageOf<M>) };
    },
    write: (values, writer, key) => {
      for (const [name, value] of Object.entries(values)) {
        const at = writer.open(key);
        entry.write({ key: name, value }, writer);
        writer.close(at);
      }
    },
  };
};

/** Writes one message at a time; nested messages share its buffer. */
const shared = new Writer();

export function defineMessage<const F extends Fields>(fields: F): Message<F> {
  const list = Object.entries(fields);
  const byNumber = new Map(list.map(([name, field]) => [field.number, { name, field }]));
  const write: Message<F>['write'] = (value, writer) => {
    for (const [name, field] of list) {
      const member = value[name];
      if (member !== undefined) field.write(member, writer, field.number * 8 + field.wireType);
    }
  };
  return {
    fields,
    decode(input) {
      const value: Record<string, unknown> = {};
      for (const [name, field] of list) value[name] = field.initial();
      const reader = new Reader(input);
      while (reader.position < input.length) {
        const key = reader.varint();
        const known = byNumber.get(Math.floor(key / 8));
        if (known === undefined || known.field.wireType !== key % 8) reader.skip(key % 8);
        else value[known.name] = known.field.read(reader, value[known.name]);
      }
      return value as ReturnType<Message<F>['decode']>;
    },
    encode(value) {
      shared.clear();
      write(value, shared);
      return shared.take();
    },
    write,
  };
}
