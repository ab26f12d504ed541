// Reads the members of a tar archive as this release writes them (PAX), one after the other and whole; keeps no content.
import { DriverError } from '../../drivers/driver-error.ts';
import { blockSize, isZero, parseExtended, parseHeader } from '../../drivers/image/tar-header.ts';
import { byteQueue } from '../../lib/byte-queue.ts';
import { createHash } from 'node:crypto';

export interface TarMember {
  /** Relative, without `./`; empty: the root. One character a byte. */
  readonly name: string;
  /** As in the header: 5 directory, 1 hard link, 0 file ... */
  readonly flag: string;
  /** Of a hard link, in the form of `name`. */
  readonly link: string;
  /** Equal for members that are the same but for their content, which is then the same as well: size and time are in it. The first
   *  character is the flag. */
  readonly print: string;
  /** All blocks that describe it. */
  readonly head: Buffer;
  /** Its content with padding, once. */
  readonly body: () => AsyncIterable<Buffer>;
}

const kinds = '0123456';
/** Of describing blocks: names, access lists, the map of a file with holes. */
const maxExtendedBytes = 8 * 1024 * 1024;
/** When it was read or changed in this place does not tell what it is; nor does how it is stored. */
const unsaid = /^(path|linkpath|size|atime|ctime|GNU\.sparse\..*)$/;

/** Reads to the end, where a failure of what makes the archive shows. Throws DriverError Failed for anything else than such an archive. */
export async function* readMembers(source: AsyncIterable<Buffer>): AsyncGenerator<TarMember> {
  const input = byteQueue(source, () => damaged('is cut off'));
  for (;;) {
    const described: Buffer[] = [];
    let records: ReadonlyMap<string, string> = new Map();
    let block = await input.take(blockSize);
    if (isZero(block)) break;
    let header = readHeader(block);
    if (header.flag === 'x') {
      if (header.size > maxExtendedBytes) throw damaged(`has a description of ${header.size} bytes`);
      const body = await input.take(padded(header.size));
      records = parseExtended(body.subarray(0, header.size), 0);
      described.push(block, body);
      block = await input.take(blockSize);
      header = readHeader(block);
    }
    if (!kinds.includes(header.flag)) throw damaged(`has a member of kind ${JSON.stringify(header.flag)}`);
    described.push(block);
    const stored = header.flag === '0' ? Number(records.get('size') ?? header.size) : 0;
    if (!Number.isSafeInteger(stored) || stored < 0) throw damaged('has a member without a size');
    let left = padded(stored);
    async function* body(): AsyncGenerator<Buffer> {
      while (left > 0) {
        const piece = await input.some(left);
        left -= piece.length;
        yield piece;
      }
    }
    const name = plainName(records.get('GNU.sparse.name') ?? records.get('path') ?? header.name);
    const link = records.get('linkpath') ?? header.link;
    const size = records.get('GNU.sparse.realsize') ?? records.get('size') ?? String(header.size);
    yield {
      name,
      flag: header.flag,
      link: header.flag === '1' ? plainName(link) : '',
      print: printOf(header.flag, block, records, [size, link]),
      head: Buffer.concat(described),
      body,
    };
    for await (const _rest of body());
  }
  await input.drain();
}

function printOf(flag: string, block: Buffer, records: ReadonlyMap<string, string>, more: readonly string[]): string {
  const told = [...records].filter(([key]) => !unsaid.test(key)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash('sha256');
  // Mode and owners, time, device numbers.
  for (const [from, to] of [
    [100, 124],
    [136, 148],
    [329, 345],
  ] as const)
    hash.update(block.subarray(from, to));
  hash.update(JSON.stringify([told, more]), 'latin1');
  return flag + hash.digest('base64').slice(0, 24);
}

/** Refuses what could lead out of a directory. */
function plainName(name: string): string {
  const parts = name.split('/').filter((part, index) => part !== '' && !(part === '.' && index === 0));
  if (name.startsWith('/') || parts.some((part) => part === '.' || part === '..'))
    throw damaged(`has a member that is called ${JSON.stringify(name.slice(0, 200))}`);
  return parts.join('/');
}

function readHeader(block: Buffer): ReturnType<typeof parseHeader> {
  try {
    return parseHeader(block, 0);
  } catch (cause) {
    throw damaged('has a damaged header', cause);
  }
}

const padded = (size: number): number => Math.ceil(size / blockSize) * blockSize;
const damaged = (why: string, cause?: unknown): DriverError =>
  new DriverError('Failed', `the archive of files ${why}`, cause);
