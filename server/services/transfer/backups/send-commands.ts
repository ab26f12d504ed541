// Reads the commands of a btrfs stream: their form, not their effect.
import { type DriverError, driverErrors } from '../../../drivers/driver-error.ts';

const magic = Buffer.from('btrfs-stream\0');
const headerBytes = 10;
/** The kernel writes 48 KiB at a time. */
const maxCommandBytes = 256 * 1024;

const commandOf = {
  subvolume: 1,
  snapshot: 2,
  mkfile: 3,
  mkdir: 4,
  mknod: 5,
  mkfifo: 6,
  mksock: 7,
  symlink: 8,
  rename: 9,
  link: 10,
  unlink: 11,
  rmdir: 12,
  setXattr: 13,
  removeXattr: 14,
  write: 15,
  clone: 16,
  truncate: 17,
  chmod: 18,
  chown: 19,
  utimes: 20,
  end: 21,
  updateExtent: 22,
} as const;
export const attributeOf = {
  uuid: 1,
  rdev: 8,
  path: 15,
  pathTo: 16,
  pathLink: 17,
  cloneUuid: 20,
  clonePath: 22,
} as const;

type CommandName = keyof typeof commandOf;
const nameOf = new Map<number, CommandName>(
  Object.entries(commandOf).map(([name, number]) => [number, name as CommandName]),
);

export interface Command {
  readonly name: CommandName;
  readonly bytes: Buffer;
  readonly attributes: ReadonlyMap<number, Buffer>;
}

/** The head of the stream as bytes, then all its commands. */
export async function* commandsOf(source: AsyncIterable<Buffer>, what: string): AsyncGenerator<Buffer | Command> {
  const chunks = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const take = async (size: number): Promise<Buffer> => {
    const parts = [rest];
    let length = rest.length;
    while (length < size) {
      const { done, value } = await chunks.next();
      if (done === true) throw invalid(what, 'is cut off');
      parts.push(value);
      length += value.length;
    }
    const whole = parts.length === 1 ? rest : Buffer.concat(parts);
    rest = whole.subarray(size);
    return whole.subarray(0, size);
  };
  const head = await take(magic.length + 4);
  if (!head.subarray(0, magic.length).equals(magic)) throw invalid(what, 'is no stream of btrfs');
  const version = head.readUInt32LE(magic.length);
  if (version !== 1) throw invalid(what, `has version ${version} of btrfs streams; this release reads version 1`);
  yield head;
  for (;;) {
    const start = await take(headerBytes);
    const size = start.readUInt32LE(0);
    if (size > maxCommandBytes) throw invalid(what, `has a command of ${size} bytes`);
    const number = start.readUInt16LE(4);
    const name = nameOf.get(number);
    if (name === undefined) throw invalid(what, `has the unknown command ${number}`);
    const bytes = Buffer.concat([start, await take(size)]);
    yield { name, bytes, attributes: attributesOf(bytes, what) };
    if (name === 'end') break;
  }
  if (rest.length > 0 || (await chunks.next()).done !== true) throw invalid(what, 'continues after its end');
}

function attributesOf(bytes: Buffer, what: string): ReadonlyMap<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (let at = headerBytes; at < bytes.length;) {
    const size = at + 4 > bytes.length ? bytes.length : bytes.readUInt16LE(at + 2);
    if (at + 4 + size > bytes.length) throw invalid(what, 'has a damaged command');
    const type = bytes.readUInt16LE(at);
    // Which of two attributes applies would depend on the reader.
    if (found.has(type)) throw invalid(what, 'has a command with a repeated attribute');
    found.set(type, bytes.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return found;
}

export const invalid = (what: string, why: string): DriverError => driverErrors.invalid(`${what} of the backup ${why}`);

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

/** CRC-32C as in btrfs: from 0, not inverted. */
export function checksum(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return crc >>> 0;
}
