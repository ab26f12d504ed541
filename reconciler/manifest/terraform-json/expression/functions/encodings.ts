// Functions of encodings beside JSON and YAML: base64, texts in other character sets, URLs, CSV, name-based identifiers.
import { createHash } from 'node:crypto';
import { ConversionError, mapFrom, type Value } from '../values.ts';
import { text } from './arguments.ts';
import { makesList, type FunctionRow } from './function-row.ts';

function fromBase64(source: string): Buffer {
  const bytes = Buffer.from(source, 'base64');
  if (bytes.toString('base64') !== source) throw new ConversionError('it is no base64');
  return bytes;
}

function utf8(bytes: Buffer): string {
  const decoded = bytes.toString('utf8');
  if (!Buffer.from(decoded, 'utf8').equals(bytes)) throw new ConversionError('what is encoded is no UTF-8 text');
  return decoded;
}

interface Charset {
  readonly encode: (source: string) => Buffer;
  readonly decode: (bytes: Buffer) => string;
}

const limited = (max: number, name: string): Charset => ({
  encode: (source) => {
    const odd = Array.from(source).find((char) => (char.codePointAt(0) ?? 0) > max);
    if (odd !== undefined) throw new ConversionError(`${JSON.stringify(odd)} is not in ${name}`);
    return Buffer.from(source, 'latin1');
  },
  decode: (bytes) => bytes.toString('latin1'),
});
const swapped = (bytes: Buffer): Buffer => Buffer.from(bytes).swap16();
const little: Charset = {
  encode: (source) => Buffer.from(source, 'utf16le'),
  decode: (bytes) => bytes.toString('utf16le'),
};
const big: Charset = {
  encode: (source) => swapped(little.encode(source)),
  decode: (bytes) => little.decode(swapped(bytes)),
};

const charsets: Readonly<Record<string, Charset>> = {
  'utf-8': { encode: (source) => Buffer.from(source, 'utf8'), decode: utf8 },
  'utf-16le': little,
  'utf-16be': big,
  'iso-8859-1': limited(0xff, 'ISO-8859-1'),
};

function charset(name: string): Charset {
  const found = charsets[name.toLowerCase()];
  if (found !== undefined) return found;
  throw new ConversionError(`the encoding ${name} is not evaluated, only UTF-8, UTF-16LE, UTF-16BE and ISO-8859-1`);
}

/** As Go escapes a query: blanks are plus signs. */
const urlEncoded = (source: string): string =>
  encodeURIComponent(Buffer.from(source, 'utf8').toString('utf8'))
    .replaceAll('%20', '+')
    .replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

/** RFC 4180: the first line names the columns. */
function readCsv(source: string): Value {
  const [names, ...rows] = csvRows(source.replace(/\r$/, ''));
  if (names === undefined) throw new ConversionError('missing header line');
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new ConversionError(`duplicate column name ${JSON.stringify(twice)}`);
  return rows.map((row, at) => {
    if (row.length !== names.length) throw new ConversionError(`record ${at + 2}: wrong number of fields`);
    return mapFrom(names.map((name, column) => [name, row[column] ?? ''] as const));
  });
}

function csvRows(source: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*(?:\r(?!\n)[^",\r\n]*)*))(,|\r?\n|$)/y;
  for (let at = 0; at < source.length;) {
    if (/^\r?\n/.test(source.slice(at, at + 2))) {
      at += source[at] === '\r' ? 2 : 1;
      continue;
    }
    const row: string[] = [];
    for (let separator = ','; separator === ',';) {
      field.lastIndex = at;
      const match = field.exec(source);
      if (match === null)
        throw new ConversionError(`record ${rows.length + 1}: a quote is at a place where none may be`);
      row.push(match[1]?.replaceAll('""', '"').replaceAll('\r\n', '\n') ?? match[2] ?? '');
      at = field.lastIndex;
      separator = match[3] ?? '';
    }
    rows.push(row);
  }
  return rows;
}

const spaces: Readonly<Record<string, string>> = {
  dns: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
  url: '6ba7b811-9dad-11d1-80b4-00c04fd430c8',
  oid: '6ba7b812-9dad-11d1-80b4-00c04fd430c8',
  x500: '6ba7b814-9dad-11d1-80b4-00c04fd430c8',
};

/** RFC 9562, version 5. */
function nameBased(space: string, name: string): string {
  const id = spaces[space] ?? space.toLowerCase();
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))
    throw new ConversionError(`${JSON.stringify(space)} is no name space: dns, url, oid, x500 or a UUID`);
  const bytes = createHash('sha1')
    .update(Buffer.from(id.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest();
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export const encodings: Readonly<Record<string, FunctionRow>> = {
  base64encode: { least: 1, max: 1, run: (args) => Buffer.from(text(args, 0), 'utf8').toString('base64') },
  base64decode: { least: 1, max: 1, run: (args) => utf8(fromBase64(text(args, 0))) },
  textencodebase64: {
    least: 2,
    max: 2,
    run: (args) => charset(text(args, 1)).encode(text(args, 0)).toString('base64'),
  },
  textdecodebase64: { least: 2, max: 2, run: (args) => charset(text(args, 1)).decode(fromBase64(text(args, 0))) },
  urlencode: { least: 1, max: 1, run: (args) => urlEncoded(text(args, 0)) },
  csvdecode: makesList({ least: 1, max: 1, run: (args) => readCsv(text(args, 0)) }),
  uuidv5: { least: 2, max: 2, run: (args) => nameBased(text(args, 0), text(args, 1)) },
};
