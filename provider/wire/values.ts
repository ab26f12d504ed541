// Values as Terraform sends them: msgpack by schema type, or JSON. Whatever a type names is always written, null when absent.
import { Decoder, Encoder, ExtData, ExtensionCodec } from '@msgpack/msgpack';
import { readValue, type Json } from '../framework/stored-state.ts';
import type { Type } from '../framework/type.ts';
import { isList, isMap, isUnknown, unknownValue, type Value } from '../framework/value.ts';

/** Bytes that are no value of the type; `path` says where. */
export class ValueError extends Error {
  override readonly name = 'ValueError';
}

const plainUnknown = 0;
/** Says what is known of an unknown value, which nothing here needs. */
const refinedUnknown = 12;

const extensionCodec = new ExtensionCodec();
extensionCodec.register({
  type: plainUnknown,
  encode: (value) => (isUnknown(value) ? Uint8Array.of(0) : null),
  decode: () => unknownValue,
});
extensionCodec.register({ type: refinedUnknown, encode: () => null, decode: () => unknownValue });

const options = { extensionCodec, useBigInt64: true } as const;
const encoder = new Encoder(options);
const decoder = new Decoder(options);

export function encodeValue(type: Type, value: Value): Uint8Array {
  return encoder.encode(toWire(type, value, ''));
}

function toWire(type: Type, value: Value, path: string): unknown {
  if (value === null || typeof type === 'string' || isUnknown(value)) return value;
  if (type.kind === 'list') {
    if (!isList(value)) throw new ValueError(`${path} is no list`);
    return typeof type.item === 'string'
      ? value
      : value.map((item, index) => toWire(type.item, item, `${path}[${index}]`));
  }
  if (!isMap(value)) throw new ValueError(`${path} is no map`);
  const out: Record<string, unknown> = {};
  if (type.kind === 'map') for (const key in value) out[key] = toWire(type.item, value[key] ?? null, key);
  else {
    for (const name in type.members) {
      const member = type.members[name];
      if (member !== undefined) out[name] = toWire(member, value[name] ?? null, name);
    }
  }
  return out;
}

/** The `msgpack` form unless it is empty, then the `json` one; nothing at all is null. Throws ValueError. */
export function decodeValue(
  type: Type,
  sent: { readonly msgpack: Uint8Array; readonly json: Uint8Array } | undefined,
): Value {
  if (sent === undefined) return null;
  try {
    if (sent.msgpack.length > 0) return fromWire(type, decoder.decode(sent.msgpack), '');
    return sent.json.length === 0
      ? null
      : readValue(type, JSON.parse(Buffer.from(sent.json).toString('utf8')) as Json, '');
  } catch (error) {
    if (error instanceof ValueError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new ValueError(`The value cannot be read: ${why}`, { cause: error });
  }
}

function fromWire(type: Type, raw: unknown, path: string): Value {
  if (raw === null || raw === undefined) return null;
  if (isUnknown(raw) || raw instanceof ExtData) return unknownValue;
  if (typeof type === 'string') return scalar(type, raw, path);
  if (type.kind === 'list') {
    if (!Array.isArray(raw)) throw new ValueError(`${path} is no list`);
    return raw.map((item, index) => fromWire(type.item, item, `${path}[${index}]`));
  }
  if (typeof raw !== 'object' || Array.isArray(raw) || raw instanceof Uint8Array)
    throw new ValueError(`${path} is no map`);
  const members = raw as Readonly<Record<string, unknown>>;
  const out: Record<string, Value> = {};
  if (type.kind === 'map') for (const key in members) out[key] = fromWire(type.item, members[key], key);
  else {
    for (const name in type.members) {
      const member = type.members[name];
      if (member !== undefined) out[name] = fromWire(member, members[name], name);
    }
  }
  return out;
}

function scalar(type: 'string' | 'number' | 'bool', raw: unknown, path: string): Value {
  if (type === 'bool' && typeof raw === 'boolean') return raw;
  if (type !== 'bool' && typeof raw === 'string') return raw;
  // A number as text is a decimal that no float can hold: it goes back as it came, by the case above.
  if (type === 'number' && typeof raw === 'number') return raw;
  if (type === 'number' && typeof raw === 'bigint') return BigInt.asIntN(54, raw) === raw ? Number(raw) : raw;
  throw new ValueError(`${path} is no ${type}`);
}
