// Reads and writes values as Terraform sends them: msgpack by schema type, or JSON. Writes every member of a type, null when absent.
import { readValue, type Json } from '../framework/stored-state.ts';
import { typeJson, type Type } from '../framework/type.ts';
import { isList, isMap, isUnknown, unknownValue, type Value, type ValueMap } from '../framework/value.ts';
import { MsgpackReader, MsgpackWriter } from './msgpack.ts';
import { reasonOf } from '../../server/lib/shared/reason.ts';

/** The bytes are not a value of the type; `path` locates the error. */
export class ValueError extends Error {
  override readonly name = 'ValueError';
}

type ObjectType = Extract<Type, { readonly kind: 'object' }>;

/** The extension for an unknown value. Extensions with refinements are read as well. */
const plainUnknown = 0;

interface Member {
  readonly name: string;
  readonly type: Type;
  /** The encoded name. */
  readonly head: Buffer;
}

/** An object type prepared for reading and writing. */
interface Shape {
  /** In the order of the type. */
  readonly members: readonly Member[];
  /** In the order of their names, which is how Terraform writes them. */
  readonly sorted: readonly Member[];
  readonly nulls: ValueMap;
}

const shapes = new WeakMap<ObjectType, Shape>();

function shapeOf(type: ObjectType): Shape {
  const known = shapes.get(type);
  if (known !== undefined) return known;
  const members = Object.entries(type.members).map(([name, member]) => ({ name, type: member, head: textBytes(name) }));
  const shape: Shape = {
    members,
    sorted: members.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    nulls: Object.fromEntries(members.map(({ name }) => [name, null])),
  };
  shapes.set(type, shape);
  return shape;
}

const short = 32;

/** Uses the shortest head, like Terraform. */
function textBytes(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length < short) return Buffer.concat([Buffer.of(0xa0 | bytes.length), bytes]);
  const longer = new MsgpackWriter();
  longer.text(text);
  return longer.take();
}

const writer = new MsgpackWriter();

export function encodeValue(type: Type, value: Value): Buffer {
  writer.clear();
  write(type, value, '');
  return writer.take();
}

function write(type: Type, value: Value, path: string): void {
  if (value === null) writer.nil();
  else if (isUnknown(value)) writer.extension(plainUnknown);
  else if (typeof value === 'string') writer.text(value);
  else if (typeof value === 'boolean') writer.flag(value);
  // As text, which Terraform reads exactly like its state; otherwise it would see a refreshed value as changed.
  else if (typeof value === 'bigint') writer.text(String(value));
  else if (typeof value === 'number') writeNumber(value);
  else if (typeof type === 'string') throw new ValueError(`${path} is not a ${type}`);
  else if (type.kind === 'dynamic') writeDynamic(type.item, value, path);
  else if (type.kind === 'list') writeList(type.item, value, path);
  else if (!isMap(value)) throw new ValueError(`${path} is not a map`);
  else if (type.kind === 'map') writeMap(type.item, value);
  else writeObject(type, value);
}

function writeNumber(value: number): void {
  if (Number.isSafeInteger(value)) writer.text(String(value));
  else writer.number(value);
}

/** Writes the type as JSON in bytes, then the value. */
function writeDynamic(item: Type, value: Value, path: string): void {
  writer.list(2);
  writer.data(Buffer.from(JSON.stringify(typeJson(item))));
  write(item, value, path);
}

function writeList(item: Type, value: Value, path: string): void {
  if (!isList(value)) throw new ValueError(`${path} is not a list`);
  writer.list(value.length);
  value.forEach((each, index) => write(item, each, `${path}[${index}]`));
}

function writeMap(item: Type, value: ValueMap): void {
  const keys = Object.keys(value);
  writer.map(keys.length);
  for (const key of keys) {
    writer.text(key);
    write(item, value[key] ?? null, key);
  }
}

function writeObject(type: ObjectType, value: ValueMap): void {
  const { members } = shapeOf(type);
  writer.map(members.length);
  for (const { name, type: member, head } of members) {
    writer.copy(head);
    write(member, value[name] ?? null, name);
  }
}

/** Reads the `msgpack` form or, when it is empty, the `json` one; null when both are empty. Throws ValueError. */
export function decodeValue(
  type: Type,
  sent: { readonly msgpack: Uint8Array; readonly json: Uint8Array } | undefined,
): Value {
  if (sent === undefined) return null;
  try {
    if (sent.msgpack.length > 0) return readWhole(type, sent.msgpack);
    return sent.json.length === 0
      ? null
      : readValue(type, JSON.parse(Buffer.from(sent.json).toString('utf8')) as Json, '');
  } catch (error) {
    if (error instanceof ValueError) throw error;
    const why = reasonOf(error);
    throw new ValueError(`The value cannot be read: ${why}`, { cause: error });
  }
}

function readWhole(type: Type, bytes: Uint8Array): Value {
  const reader = new MsgpackReader(bytes);
  const value = read(type, reader, '');
  if (reader.position < bytes.length) throw new ValueError('The value cannot be read: extra bytes follow it');
  return value;
}

function read(type: Type, reader: MsgpackReader, path: string): Value {
  if (reader.nil()) return null;
  if (reader.extension()) return unknownValue;
  if (typeof type === 'string') return readScalar(type, reader, path);
  if (type.kind === 'list') return readList(type.item, reader, path);
  if (type.kind === 'dynamic') return readDynamic(type.item, reader, path);
  const length = reader.map();
  if (length === undefined) throw new ValueError(`${path} is not a map`);
  return type.kind === 'map' ? readMap(type.item, length, reader, path) : readObject(type, length, reader, path);
}

function readScalar(type: 'string' | 'number' | 'bool', reader: MsgpackReader, path: string): Value {
  const found =
    type === 'bool' ? reader.flag() : type === 'string' ? reader.text() : (wholeText(reader.text()) ?? reader.number());
  if (found === undefined) throw new ValueError(`${path} is not a ${type}`);
  return typeof found === 'bigint' && BigInt.asIntN(54, found) === found ? Number(found) : found;
}

/** A number as text is an integer, or a decimal that no float can hold, which is sent back unchanged. */
const wholeText = (text: string | undefined): string | bigint | undefined =>
  text !== undefined && /^-?\d+$/.test(text) ? BigInt(text) : text;

/** Ignores the encoded type: Terraform returns only values that this provider wrote. */
function readDynamic(item: Type, reader: MsgpackReader, path: string): Value {
  if (reader.list() !== 2 || !reader.skipData()) throw new ValueError(`${path} has no type`);
  return read(item, reader, path);
}

function readList(item: Type, reader: MsgpackReader, path: string): Value {
  const length = reader.list();
  if (length === undefined) throw new ValueError(`${path} is not a list`);
  const items: Value[] = [];
  for (let index = 0; index < length; index += 1) items.push(read(item, reader, `${path}[${index}]`));
  return items;
}

function readMap(item: Type, length: number, reader: MsgpackReader, path: string): Value {
  const map: Record<string, Value> = {};
  for (let index = 0; index < length; index += 1) {
    const key = readKey(reader, path);
    map[key] = read(item, reader, key);
  }
  return map;
}

/** Drops members that the type does not name. */
function readObject(type: ObjectType, length: number, reader: MsgpackReader, path: string): Value {
  const { sorted, nulls } = shapeOf(type);
  const object: Record<string, Value> = { ...nulls };
  for (let index = 0; index < length; index += 1) {
    const expected = sorted[index];
    if (expected !== undefined && reader.skipText(expected.head)) {
      object[expected.name] = read(expected.type, reader, expected.name);
      continue;
    }
    const name = readKey(reader, path);
    const member = Object.hasOwn(type.members, name) ? type.members[name] : undefined;
    if (member === undefined) reader.skip();
    else object[name] = read(member, reader, name);
  }
  return object;
}

function readKey(reader: MsgpackReader, path: string): string {
  const key = reader.text();
  if (key === undefined) throw new ValueError(`${path} has a key that is not text`);
  // Assigning __proto__ would change the prototype of the object.
  if (key === '__proto__') throw new ValueError(`${path} has the key __proto__, which is not supported`);
  return key;
}
