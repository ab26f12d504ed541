// Reads the members of a tar archive in order, in one pass; checks form (damage, tricks of the format), not content.
import { driverErrors } from '../driver-error.ts';
import type { ArchiveEntry, EntryKind } from './entry.ts';
import { cutOff, readBytes, type ByteReader } from './tar-blocks.ts';
import { blockSize, isZero, parseExtended, parseHeader, shownName, type TarHeader } from './tar-header.ts';

export interface TarMember extends ArchiveEntry {
  /** The content, once, before the next member is requested. */
  readonly read: () => Promise<Buffer>;
  /** The content piece by piece, instead of `read`. */
  readonly content: () => AsyncGenerator<Buffer>;
  /** The member as in the archive, headers and padding included, instead of the content. */
  readonly blocks: () => AsyncGenerator<Buffer>;
  /** The content with its padding, instead of the content. */
  readonly padded: () => AsyncGenerator<Buffer>;
  /** The headers as in the archive: extended headers before `header`, the sparse map after it. */
  readonly head: readonly Buffer[];
  readonly header: Buffer;
  /** The records of extended headers. */
  readonly records: ReadonlyMap<string, string>;
}

const kinds: Readonly<Record<string, EntryKind>> = {
  '\0': 'file',
  '0': 'file',
  '1': 'hard link',
  '2': 'symbolic link',
  '3': 'character device',
  '4': 'block device',
  '5': 'directory',
  '6': 'fifo',
  '7': 'file',
  S: 'file',
};

const maxExtraBytes = 1024 * 1024;
/** Max headers of one member, each with its content. */
const maxHeaders = 16;
const maxMapBlocks = 100_000;
const maxTrailingBytes = 64 * 1024 * 1024;
const namingKeys = ['path', 'linkpath', 'size', 'GNU.sparse.name', 'GNU.sparse.realsize', 'GNU.sparse.size'] as const;

/** What extended headers say about the next member. */
interface Extra {
  records: Map<string, string>;
  longName?: string;
  longLink?: string;
  /** These headers as in the archive. */
  raw: Buffer[];
}

/** `allowed`: how many bytes the archive may have in all, called after every piece. `paxOnly`: refuses extended headers other than PAX
 *  headers of one member. Throws Invalid. */
export async function* readTar(
  source: AsyncIterable<Buffer>,
  allowed: () => number,
  paxOnly = false,
): AsyncGenerator<TarMember> {
  const bytes = readBytes(source, allowed);
  let extra: Extra = { records: new Map(), raw: [] };
  for (;;) {
    const position = bytes.position();
    const block = await bytes.take(blockSize, `the header at byte ${position}`);
    if (block === undefined) throw cutOff('its list of members: there is no end mark');
    if (isZero(block)) {
      await checkEnd(bytes);
      return;
    }
    const header = parseHeader(block, position);
    // A copy: pieces of the input are reused.
    extra.raw.push(Buffer.from(block));
    if (extra.raw.length > maxHeaders)
      throw driverErrors.invalid(`the image has too many extended headers at byte ${position}`);
    if ((paxOnly ? 'x' : 'xgLK').includes(header.flag)) {
      await readExtra(bytes, header, extra, position);
      continue;
    }
    yield* readMember(bytes, header, extra);
    extra = { records: new Map(), raw: [] };
  }
}

async function* readMember(bytes: ByteReader, header: TarHeader, extra: Extra): AsyncGenerator<TarMember> {
  const block = extra.raw.at(-1) ?? Buffer.alloc(0);
  const entry = describe(header, extra);
  const stored = storedSize(header, extra, entry);
  const what = `${entry.kind} ${shownName(entry.name)}`;
  for (let goesOn = header.isExtended; goesOn;) {
    const map = await bytes.take(blockSize, what);
    if (map === undefined) throw cutOff(what);
    extra.raw.push(Buffer.from(map));
    if (extra.raw.length > maxMapBlocks) throw driverErrors.invalid(`the image has too long a map of holes in ${what}`);
    goesOn = map[504] === 1;
  }
  let isRead = false;
  let left = 0;
  const paddedSize = Math.ceil(stored / blockSize) * blockSize;
  async function* padded(): AsyncGenerator<Buffer> {
    isRead = true;
    left = paddedSize;
    while (left > 0) {
      const piece = await bytes.some(left, what);
      left -= piece.length;
      yield piece;
    }
  }
  async function* content(): AsyncGenerator<Buffer> {
    let wanted = stored;
    for await (const piece of padded()) {
      if (wanted > 0) yield piece.subarray(0, wanted);
      wanted -= piece.length;
    }
  }
  async function* blocks(): AsyncGenerator<Buffer> {
    yield* extra.raw;
    yield* padded();
  }
  const read = async (): Promise<Buffer> => {
    isRead = true;
    const content = stored === 0 ? Buffer.alloc(0) : await bytes.take(paddedSize, what);
    if (content === undefined) throw cutOff(what);
    return content.subarray(0, stored);
  };
  const { raw: head, records } = extra;
  yield { ...entry, read, content, blocks, padded, head, header: block, records };
  if (!isRead) await bytes.skip(paddedSize, what);
  // The consumer may have stopped early.
  if (left > 0) await bytes.skip(left, what);
}

/** An extended header must describe a next member. */
async function readExtra(bytes: ByteReader, header: TarHeader, extra: Extra, position: number): Promise<void> {
  const what = `the extended header at byte ${position}`;
  if (header.size > maxExtraBytes) throw driverErrors.invalid(`${what} of the image has ${header.size} bytes`);
  const padded = Math.ceil(header.size / blockSize) * blockSize;
  const body = padded === 0 ? Buffer.alloc(0) : await bytes.take(padded, what);
  if (body === undefined) throw cutOff(what);
  extra.raw.push(Buffer.from(body));
  const content = body.subarray(0, header.size);
  if (header.flag === 'L') extra.longName = longText(content, what);
  else if (header.flag === 'K') extra.longLink = longText(content, what);
  else if (header.flag === 'x') extra.records = new Map([...extra.records, ...parseExtended(content, position)]);
  else {
    const naming = [...parseExtended(content, position).keys()].find(isNaming);
    if (naming !== undefined) throw driverErrors.invalid(`${what} of the image sets ${naming} of all members`);
  }
}

function isNaming(key: string): boolean {
  return namingKeys.some((name) => name === key);
}

function longText(content: Buffer, what: string): string {
  const text = content.toString('latin1').replace(/\0+$/, '');
  if (text.includes('\0')) throw driverErrors.invalid(`${what} of the image has a NUL inside a name`);
  return text;
}

function describe(header: TarHeader, extra: Extra): ArchiveEntry {
  const { records } = extra;
  if (extra.longName !== undefined && records.has('path'))
    throw driverErrors.invalid(`${shownName(header.name)} in the image has two long names`);
  const name = records.get('GNU.sparse.name') ?? records.get('path') ?? extra.longName ?? header.name;
  const link = records.get('linkpath') ?? extra.longLink ?? header.link;
  for (const text of [name, link])
    if (text.includes('\0')) throw driverErrors.invalid(`the name ${shownName(text)} in the image has a NUL in it`);
  const kind = kinds[header.flag];
  if (kind === undefined)
    throw driverErrors.invalid(`${shownName(name)} in the image is of the unknown kind ${JSON.stringify(header.flag)}`);
  const realSize = records.get('GNU.sparse.realsize') ?? records.get('GNU.sparse.size');
  const sizeText = realSize ?? records.get('size');
  const size = sizeText === undefined ? (header.sparseSize ?? header.size) : parseDecimal(sizeText, name);
  // Old archives have directories as files whose name ends in a slash.
  const isDirectory = kind === 'file' && name.endsWith('/');
  return { name, kind: isDirectory ? 'directory' : kind, link, size };
}

/** Bytes that follow in the archive. Only files may have any: readers differ on other members. */
function storedSize(header: TarHeader, extra: Extra, entry: ArchiveEntry): number {
  const text = extra.records.get('size');
  const stored = text === undefined ? header.size : parseDecimal(text, entry.name);
  if (stored > 0 && entry.kind !== 'file')
    throw driverErrors.invalid(`${entry.kind} ${shownName(entry.name)} in the image claims ${stored} bytes of content`);
  return stored;
}

function parseDecimal(text: string, name: string): number {
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value))
    throw driverErrors.invalid(`the size of ${shownName(name)} in the image is not a number that a size can be`);
  return value;
}

/** After the end mark only padding may follow: other readers might read on. Also reads a packed stream to its end. */
async function checkEnd(bytes: ByteReader): Promise<void> {
  const start = bytes.position();
  for (;;) {
    const block = await bytes.take(blockSize, 'its end mark');
    if (block === undefined) return;
    if (!isZero(block)) throw driverErrors.invalid(`the image has data after its end mark, at byte ${start}`);
    if (bytes.position() - start > maxTrailingBytes)
      throw driverErrors.invalid(`the image has more than ${maxTrailingBytes} bytes after its end mark`);
  }
}
