// The codecs of the wire: every written value is read back unchanged, and damaged input is only an error.
import { Decoder, Encoder } from '@msgpack/msgpack';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Type } from '../../provider/framework/type.ts';
import { equalValues, isUnknown, unknownValue, type Value } from '../../provider/framework/value.ts';
import { logLine } from '../../provider/wire/log.ts';
import * as wire from '../../provider/wire/messages.ts';
import {
  bytes,
  defineMessage,
  flag,
  integer,
  mapped,
  message,
  optional,
  ProtobufError,
  repeated,
  text,
} from '../../server/lib/shared/protobuf.ts';
import { decodeValue, encodeValue, ValueError } from '../../provider/wire/values.ts';

const Inner = defineMessage({ label: text(1), count: integer(2) });
const Outer = defineMessage({
  name: text(1),
  data: bytes(2),
  yes: flag(3),
  size: integer(15),
  maybe: optional(text(16)),
  number: optional(integer(17)),
  inner: message(200, () => Inner),
  list: repeated(message(5, () => Inner)),
  names: repeated(text(6)),
  byKey: mapped(7, () => Inner),
});

const inner = fc.record({ label: fc.string(), count: fc.maxSafeInteger() });
const outer = fc.record({
  name: fc.string({ unit: 'binary' }),
  data: fc.uint8Array().map((each) => Buffer.from(each)),
  yes: fc.boolean(),
  size: fc.maxSafeInteger(),
  maybe: fc.option(fc.string(), { nil: undefined }),
  number: fc.option(fc.maxSafeNat(), { nil: undefined }),
  inner: fc.option(inner, { nil: undefined }),
  list: fc.array(inner),
  names: fc.array(fc.string()),
  byKey: fc.dictionary(
    fc.string().filter((key) => key !== '__proto__'),
    inner,
  ),
});

describe('protocol buffers', () => {
  test('Every message survives encoding and decoding', () => {
    fc.assert(
      fc.property(outer, (value) => {
        const back = Outer.decode(Outer.encode(value));
        expect({ ...back, data: Buffer.from(back.data), byKey: { ...back.byKey } }).toEqual({
          ...value,
          byKey: { ...value.byKey },
        });
      }),
    );
  });

  test('Unknown fields of every wire type are skipped', () => {
    const More = defineMessage({
      name: text(1),
      later: text(90),
      count: integer(91),
      blob: bytes(92),
      sub: message(93, () => Inner),
    });
    const sent = More.encode({
      name: 'a',
      later: 'b',
      count: 5,
      blob: Buffer.from('c'),
      sub: { label: 'd', count: 1 },
    });
    const fixed = Buffer.concat([
      sent,
      Buffer.from([0xe1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8]),
      Buffer.from([0xe5, 0x06, 1, 2, 3, 4]),
    ]);
    expect(Outer.decode(fixed)).toMatchObject({ name: 'a', size: 0 });
  });

  test('Damaged bytes are an error, never an endless loop or a crash', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (noise) => {
        try {
          Outer.decode(noise);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtobufError);
        }
      }),
    );
  });

  test('The numbers of fields are those of the protocol', () => {
    // Written by hand from the protocol definition: field 1 "t", field 2 a message with field 1 bytes c0.
    const request = Buffer.from([0x0a, 1, 0x74, 0x12, 3, 0x0a, 1, 0xc0]);
    const read = wire.TypedConfigRequest.decode(request);
    expect(read.typeName).toBe('t');
    expect(Buffer.from(read.config?.msgpack ?? [])).toEqual(Buffer.from([0xc0]));
    const reply = wire.DiagnosticsReply.encode({
      diagnostics: [
        {
          severity: 1,
          summary: 's',
          detail: 'd',
          attribute: {
            steps: [
              { attribute: 'a', key: undefined, index: undefined },
              { attribute: undefined, key: '', index: undefined },
              { attribute: undefined, key: undefined, index: 0 },
            ],
          },
        },
      ],
    });
    expect(reply.toString('hex')).toBe('0a1708011201731a016422 0d0a030a01610a0212000a021800'.replace(' ', ''));
  });
});

const type: Type = {
  kind: 'object',
  members: {
    name: 'string',
    count: 'number',
    yes: 'bool',
    list: { kind: 'list', item: 'string' },
    map: { kind: 'map', item: { kind: 'map', item: 'string' } },
    inner: {
      kind: 'object',
      members: { deep: { kind: 'list', item: { kind: 'object', members: { size: 'number' } } } },
    },
  },
};
const maybe = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | null | typeof unknownValue> =>
  fc.oneof({ weight: 6, arbitrary: of }, fc.constant(null), fc.constant(unknownValue));
const key = fc.string().filter((each) => each !== '__proto__');
const number = fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant('0.1'));
const value = fc.record({
  name: maybe(fc.string({ unit: 'grapheme' })),
  count: maybe(number),
  yes: maybe(fc.boolean()),
  list: maybe(fc.array(maybe(fc.string()))),
  map: maybe(fc.dictionary(key, maybe(fc.dictionary(key, maybe(fc.string()))))),
  inner: maybe(fc.record({ deep: maybe(fc.array(fc.record({ size: maybe(fc.maxSafeInteger()) }))) })),
}) as fc.Arbitrary<Value>;

const packed = (bytes: Uint8Array) => ({ msgpack: bytes, json: Buffer.alloc(0) });

describe('Values', () => {
  test('Every value survives encoding and decoding, including unknown parts', () => {
    fc.assert(
      fc.property(value, (each) => {
        const back = decodeValue(type, packed(encodeValue(type, each)));
        expect(JSON.stringify(back)).toBe(JSON.stringify(each));
      }),
    );
  });

  test('Every member of an object is written, missing ones as null', () => {
    const raw = new Decoder().decode(encodeValue(type, { name: 'a' })) as Record<string, unknown>;
    expect(raw).toEqual({ name: 'a', count: null, yes: null, list: null, map: null, inner: null });
  });

  test('Numbers beyond the safe integers stay exact', () => {
    const encoder = new Encoder({ useBigInt64: true });
    const big = 9007199254740993n;
    expect(decodeValue('number', packed(encoder.encode(big)))).toBe(big);
    expect(decodeValue('number', packed(encoder.encode(5n)))).toBe(5);
    expect(decodeValue('number', packed(encodeValue('number', big)))).toBe(big);
    expect(decodeValue('number', packed(encodeValue('number', '0.1')))).toBe('0.1');
    // Terraform keeps the same number of digits for a text as for a number in its state.
    expect([...encodeValue('number', 5)]).toEqual([0xa1, 0x35]);
  });

  test('Any extension is an unknown value: a plain one, a refined one, one of a later version', () => {
    for (const bytes of [
      [0xd4, 0, 0],
      [0xc7, 2, 12, 0x81, 0x01],
      [0xd4, 77, 0],
    ]) {
      expect(isUnknown(decodeValue('string', packed(Uint8Array.from(bytes))))).toBe(true);
    }
  });

  test('A value of another shape, or random bytes, is an error with a message', () => {
    expect(() => decodeValue(type, packed(encodeValue('string', 'x')))).toThrow(ValueError);
    expect(() => decodeValue('bool', packed(encodeValue('string', 'x')))).toThrow(/is not a bool/);
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (noise) => {
        try {
          decodeValue(type, packed(noise));
        } catch (error) {
          expect(error).toBeInstanceOf(ValueError);
        }
      }),
    );
    expect(() =>
      decodeValue({ kind: 'map', item: 'string' }, packed(new Encoder().encode(JSON.parse('{"__proto__":"x"}')))),
    ).toThrow(ValueError);
  });

  test('A value of a dynamic type carries its type, in msgpack and in JSON', () => {
    const type: Type = { kind: 'dynamic', item: { kind: 'map', item: 'string' } };
    const bytes = encodeValue(type, { a: 'b' });
    const [said, value] = new Decoder().decode(bytes) as [Uint8Array, unknown];
    expect([Buffer.from(said).toString(), value]).toEqual(['["map","string"]', { a: 'b' }]);
    expect(decodeValue(type, { msgpack: bytes, json: new Uint8Array() })).toEqual({ a: 'b' });
    const long = new Encoder().encode([Buffer.from(`["map","string"]${' '.repeat(300)}`), { a: 'c' }]);
    expect(decodeValue(type, { msgpack: long, json: new Uint8Array() })).toEqual({ a: 'c' });
    for (const other of [null, unknownValue]) {
      expect(decodeValue(type, { msgpack: encodeValue(type, other), json: new Uint8Array() })).toBe(other);
    }
    const json = Buffer.from('{"value":{"a":"b"},"type":["map","string"]}');
    expect(decodeValue(type, { msgpack: new Uint8Array(), json })).toEqual({ a: 'b' });
    const bare = encodeValue({ kind: 'map', item: 'string' }, { a: 'b' });
    expect(() => decodeValue(type, { msgpack: bare, json: new Uint8Array() })).toThrow('has no type');
  });

  test('JSON is read when msgpack is empty', () => {
    const sent = { msgpack: Buffer.alloc(0), json: Buffer.from('{"name":"a","gone":1}') };
    expect(
      equalValues(decodeValue(type, sent), { name: 'a', count: null, yes: null, list: null, map: null, inner: null }),
    ).toBe(true);
  });
});

describe('log lines', () => {
  test('A log line is one line of JSON with a time of six fractional digits, however long the message is', () => {
    const line = logLine(new Date('2030-01-02T03:04:05.678Z'), 'warn', 'a\nb');
    expect(JSON.parse(line)).toEqual({
      '@level': 'warn',
      '@message': 'a\nb',
      '@module': 'provider',
      '@timestamp': '2030-01-02T03:04:05.678000Z',
    });
    expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(Buffer.byteLength(logLine(new Date(), 'info', 'ü'.repeat(200_000)))).toBeLessThan(64 * 1024);
  });
});
