// Writes reproducible zip archives: fixed times, sorted names, Unix modes.
import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  readonly name: string;
  readonly content: Buffer;
  /** Permission bits. */
  readonly mode: number;
}

/** The earliest time of the format: 1980-01-01 00:00. */
const dosDate = (1 << 5) | 1;
const version = 20;
const madeOnUnix = (3 << 8) | version;
const deflated = 8;
const regularFile = 0o100000;

export function zip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = Buffer.from(entry.name, 'utf8');
    const packed = deflateRawSync(entry.content, { level: 9 });
    const facts = commonFacts(entry, packed.length, name.length);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), facts]);
    parts.push(local, name, packed);
    directory.push(centralHeader(facts, entry.mode, offset), name);
    offset += local.length + name.length + packed.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, central, end]);
}

/** The fields that the local and the central header share. */
function commonFacts({ content }: ZipEntry, packedBytes: number, nameBytes: number): Buffer {
  const facts = Buffer.alloc(26);
  facts.writeUInt16LE(version, 0);
  facts.writeUInt16LE(deflated, 4);
  facts.writeUInt16LE(dosDate, 8);
  facts.writeUInt32LE(crc32(content), 10);
  facts.writeUInt32LE(packedBytes, 14);
  facts.writeUInt32LE(content.length, 18);
  facts.writeUInt16LE(nameBytes, 22);
  return facts;
}

function centralHeader(facts: Buffer, mode: number, offset: number): Buffer {
  const head = Buffer.alloc(6);
  head.write('PK\x01\x02', 'latin1');
  head.writeUInt16LE(madeOnUnix, 4);
  const tail = Buffer.alloc(14);
  tail.writeUInt32LE(((regularFile | mode) << 16) >>> 0, 6);
  tail.writeUInt32LE(offset, 10);
  return Buffer.concat([head, facts, tail]);
}
