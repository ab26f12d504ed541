// Parses the blocks of a tar archive that describe a member; stricter than the formats, so that no two readers can disagree.
import { driverErrors } from '../driver-error.ts';

export const blockSize = 512;

export interface TarHeader {
  /** As in the archive, one character a byte. */
  readonly name: string;
  readonly link: string;
  readonly flag: string;
  readonly size: number;
  /** Size after unpacking, in the old GNU form of sparse files. */
  readonly sparseSize?: number;
  /** More blocks of the sparse map follow. */
  readonly isExtended: boolean;
}

export function isZero(block: Buffer): boolean {
  return block.every((byte) => byte === 0);
}

/** `position` is where the block begins, for messages. */
export function parseHeader(block: Buffer, position: number): TarHeader {
  const where = `the header at byte ${position}`;
  if (!isChecksumRight(block)) throw driverErrors.invalid(`${where} of the image is damaged: its checksum is wrong`);
  const flag = String.fromCharCode(block[156] ?? 0);
  const magic = block.toString('latin1', 257, 263);
  const prefix = magic === 'ustar\0' ? upToNul(block, 345, 500) : '';
  const own = upToNul(block, 0, 100);
  const isNameClean = isZero(block.subarray(own.length, 100));
  const name = prefix === '' ? own : `${prefix}/${own}`;
  if (!isNameClean)
    throw driverErrors.invalid(`the name ${shownName(name)} in ${where} of the image continues after a NUL`);
  return {
    name,
    link: upToNul(block, 157, 257),
    flag,
    size: parseNumber(block.subarray(124, 136), `size of ${shownName(name)}`),
    isExtended: flag === 'S' && block[482] === 1,
    ...(flag === 'S' ? { sparseSize: parseNumber(block.subarray(483, 495), `real size of ${shownName(name)}`) } : {}),
  };
}

function upToNul(block: Buffer, from: number, to: number): string {
  const end = block.subarray(from, to).indexOf(0);
  return block.toString('latin1', from, end === -1 ? to : from + end);
}

function isChecksumRight(block: Buffer): boolean {
  const stored = /^[ \0]*([0-7]+)[ \0]*$/.exec(block.toString('latin1', 148, 156))?.[1];
  if (stored === undefined) return false;
  let [unsigned, signed] = [0, 0];
  for (let index = 0; index < blockSize; index += 1) {
    const byte = index >= 148 && index < 156 ? 32 : (block[index] ?? 0);
    unsigned += byte;
    signed += byte > 127 ? byte - 256 : byte; // some old writers summed signed bytes
  }
  const sum = Number.parseInt(stored, 8);
  return sum === unsigned || sum === signed;
}

/** Octal text, or the binary form for big numbers. */
function parseNumber(field: Buffer, what: string): number {
  const first = field[0] ?? 0;
  if (first === 0x80) {
    const value = BigInt(`0x${field.subarray(1).toString('hex')}`);
    if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  } else {
    const octal = /^[ \0]*([0-7]*)[ \0]*$/.exec(field.toString('latin1'))?.[1];
    if (octal !== undefined) return octal === '' ? 0 : Number.parseInt(octal, 8);
  }
  throw driverErrors.invalid(`the ${what} in the image is not a number that a size can be`);
}

/** Records of an extended header: `LENGTH KEY=VALUE\n`. */
export function parseExtended(body: Buffer, position: number): Map<string, string> {
  const records = new Map<string, string>();
  const text = body.toString('latin1');
  let at = 0;
  while (at < text.length) {
    const length = /^([1-9][0-9]{0,8}) /.exec(text.slice(at, at + 10))?.[1];
    const record = length === undefined ? '' : text.slice(at + length.length + 1, at + Number(length));
    const equals = record.indexOf('=');
    if (length === undefined || equals < 1 || !record.endsWith('\n') || at + Number(length) > text.length)
      throw driverErrors.invalid(`the extended header at byte ${position} of the image is damaged`);
    records.set(record.slice(0, equals), record.slice(equals + 1, -1));
    at += Number(length);
  }
  return records;
}

/** A name as messages show it: quoted, escaped, cut. */
export function shownName(name: string): string {
  const text = Buffer.from(name, 'latin1').toString('utf8');
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 117)}...` : text);
}
