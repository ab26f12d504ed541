// Makes of an archive that our own tar wrote a part of a larger one (no end mark), with other owners if wanted. For archives of
// nobody else: nothing here is checked.
import { sealed, withContent } from '../../lib/shared/tar-headers.ts';

const blockSize = 512;
const blank = Buffer.alloc(blockSize);

/** What an id on disk is called in the archive. */
export type OwnerOf = (kind: 'uid' | 'gid', id: number) => number;

/** All members of the PAX archive `source`, which is read to its end. */
export async function* membersOf(source: AsyncIterable<Buffer>, ownerOf?: OwnerOf): AsyncGenerator<Buffer> {
  const input = byteQueue(source, () => new Error('tar ended its archive early'));
  let records: readonly string[] = [];
  for (let header = await input.take(blockSize); !header.equals(blank); header = await input.take(blockSize)) {
    const padded = padUp(sizeOf(header));
    if (isExtended(header)) {
      const body = await input.take(padded);
      records = recordsOf(body.subarray(0, sizeOf(header)));
      const kept = ownerOf === undefined ? records : records.filter((record) => !/^\d+ [ug]id=/.test(record));
      if (kept.length === records.length) yield Buffer.concat([header, body]);
      else if (kept.length > 0) yield withContent(header, Buffer.from(kept.join(''), 'latin1'));
      continue;
    }
    yield ownerOf === undefined ? header : withOwners(header, records, ownerOf);
    const long = valueOf(records, 'size');
    records = [];
    yield* input.pass(long === undefined ? padded : padUp(long));
  }
  await input.drain();
}

const padUp = (size: number): number => Math.ceil(size / blockSize) * blockSize;
const isExtended = (header: Buffer): boolean => header[156] === 'x'.charCodeAt(0);
const octal = (field: Buffer): number => Number.parseInt(field.toString('latin1').replace(/\0.*$/s, ''), 8);
const sizeOf = (header: Buffer): number => octal(header.subarray(124, 136));

/** One character a byte, so that lengths are those of the archive. */
function recordsOf(body: Buffer): readonly string[] {
  const text = body.toString('latin1');
  const records: string[] = [];
  for (let at = 0; at < text.length;) {
    const length = Number.parseInt(text.slice(at, at + 12), 10);
    records.push(text.slice(at, at + length));
    at += length;
  }
  return records;
}

function valueOf(records: readonly string[], key: string): number | undefined {
  const record = records.find((each) => each.slice(each.indexOf(' ') + 1).startsWith(`${key}=`));
  return record === undefined ? undefined : Number(record.slice(record.indexOf('=') + 1));
}

/** Ids of a container fit the field of a header: they are below 2^21. */
function withOwners(header: Buffer, records: readonly string[], ownerOf: OwnerOf): Buffer {
  const changed = Buffer.from(header);
  for (const [kind, at] of [
    ['uid', 108],
    ['gid', 116],
  ] as const) {
    const id = ownerOf(kind, valueOf(records, kind) ?? octal(header.subarray(at, at + 8)));
    changed.write(`${id.toString(8).padStart(7, '0')}\0`, at);
  }
  return sealed(changed);
}

interface ByteQueue {
  take(size: number): Promise<Buffer>;
  /** At least one byte, at most `size`. */
  some(size: number): Promise<Buffer>;
  /** `size` bytes, in chunks as they arrive. */
  pass(size: number): AsyncGenerator<Buffer>;
  /** Reads to the end, where the source may report a failure. */
  drain(): Promise<void>;
}

/**
 * Takes pieces of requested sizes from a stream of chunks of any size. Holds one chunk.
 * `cutOff` makes the error for a source that ends too early.
 */
function byteQueue(source: AsyncIterable<Buffer>, cutOff: () => Error): ByteQueue {
  const chunks = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const next = async (): Promise<Buffer> => {
    const { done, value } = await chunks.next();
    if (done === true) throw cutOff();
    return value;
  };
  const cut = (size: number): Buffer => {
    const piece = rest.subarray(0, size);
    rest = rest.subarray(piece.length);
    return piece;
  };
  const some = async (size: number): Promise<Buffer> => {
    while (rest.length === 0) rest = await next();
    return cut(size);
  };
  return {
    async take(size) {
      while (rest.length < size) rest = Buffer.concat([rest, await next()]);
      return cut(size);
    },
    some,
    async *pass(size) {
      for (let left = size; left > 0;) {
        const piece = await some(left);
        left -= piece.length;
        yield piece;
      }
    },
    async drain() {
      while ((await chunks.next()).done !== true);
    },
  };
}
