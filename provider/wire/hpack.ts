// Header fields as HTTP/2 compresses them (RFC 7541): reads what the other side writes, and writes fields that refer to nothing
// before them, so that they may be written once and sent often.
import { readHuffman } from './huffman.ts';

export class HpackError extends Error {
  override readonly name = 'HpackError';
}

interface Entry {
  readonly name: string;
  readonly value: string;
}

/** From number 1 on; a name and its value are parted by a space. */
const fixed: readonly Entry[] = (
  ':authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https|:status 200|:status 204|' +
  ':status 206|:status 304|:status 400|:status 404|:status 500|accept-charset|accept-encoding gzip, deflate|accept-language|' +
  'accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|' +
  'content-encoding|content-language|content-length|content-location|content-range|content-type|cookie|date|etag|expect|' +
  'expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|link|location|' +
  'max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|set-cookie|' +
  'strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate'
)
  .split('|')
  .map((each) => {
    const space = each.indexOf(' ');
    return space < 0 ? { name: each, value: '' } : { name: each.slice(0, space), value: each.slice(space + 1) };
  });

/** What both sides begin with, and we never ask for more. */
const tableBytes = 4096;
const entryBytes = ({ name, value }: Entry): number => name.length + value.length + 32;

/** One for each connection: every block may refer to fields of blocks before it, so none may be left out. */
export class HeaderReader {
  /** The newest last. */
  readonly #entries: Entry[] = [];
  #size = 0;
  #maxSize = tableBytes;
  #bytes: Buffer = Buffer.alloc(0);
  #position = 0;

  /** Tells of every field in its order. Throws HpackError; the connection cannot be read any further then. */
  read(block: Buffer, field: (name: string, value: string) => void): void {
    this.#bytes = block;
    this.#position = 0;
    let mayResize = true;
    while (this.#position < block.length) {
      const byte = block[this.#position] ?? 0;
      if ((byte & 0xe0) === 0x20) {
        if (!mayResize) throw new HpackError('the size of the table changes amid fields');
        this.#resize(this.#integer(5));
        continue;
      }
      mayResize = false;
      const entry = byte >= 0x80 ? this.#entry(this.#integer(7)) : this.#literal(byte);
      field(entry.name, entry.value);
    }
  }

  #literal(byte: number): Entry {
    const isKept = (byte & 0x40) !== 0;
    const index = this.#integer(isKept ? 6 : 4);
    const name = index === 0 ? this.#text() : this.#entry(index).name;
    const entry = { name, value: this.#text() };
    if (isKept) this.#keep(entry);
    return entry;
  }

  #entry(index: number): Entry {
    const entry = index <= fixed.length ? fixed[index - 1] : this.#entries[this.#entries.length + fixed.length - index];
    if (entry === undefined) throw new HpackError(`there is no field ${index}`);
    return entry;
  }

  #keep(entry: Entry): void {
    this.#entries.push(entry);
    this.#size += entryBytes(entry);
    this.#shrink();
  }

  #resize(size: number): void {
    if (size > tableBytes) throw new HpackError(`a table of ${size} bytes is more than was offered`);
    this.#maxSize = size;
    this.#shrink();
  }

  #shrink(): void {
    while (this.#size > this.#maxSize) {
      const oldest = this.#entries.shift();
      this.#size -= oldest === undefined ? this.#size : entryBytes(oldest);
    }
  }

  #byte(): number {
    const byte = this.#bytes[this.#position];
    if (byte === undefined) throw new HpackError('the fields are cut off');
    this.#position += 1;
    return byte;
  }

  /** In the last `bits` of this byte, or more bytes. */
  #integer(bits: number): number {
    const full = 2 ** bits - 1;
    let value = this.#byte() & full;
    if (value < full) return value;
    for (let shift = 1; shift <= 2 ** 21; shift *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) return value;
    }
    throw new HpackError('a number is too large');
  }

  #text(): string {
    const isCompressed = (this.#bytes[this.#position] ?? 0) >= 0x80;
    const length = this.#integer(7);
    const end = this.#position + length;
    if (end > this.#bytes.length) throw new HpackError('a text is cut off');
    const bytes = this.#bytes.subarray(this.#position, end);
    this.#position = end;
    const text = isCompressed ? readHuffman(bytes) : bytes.toString('latin1');
    if (text === undefined) throw new HpackError('a text is no Huffman code');
    return text;
  }
}

/** Names in lower case, both ASCII. */
export function writeHeaders(fields: Readonly<Record<string, string>>): Buffer {
  const literal = 0x00;
  return Buffer.concat(
    Object.entries(fields).flatMap(([name, value]) => [Buffer.of(literal), ...[name, value].flatMap(writeText)]),
  );
}

function writeText(text: string): Buffer[] {
  const bytes = Buffer.from(text, 'latin1');
  const full = 127;
  const length: number[] = [Math.min(bytes.length, full)];
  let left = bytes.length - full;
  if (left >= 0) {
    for (; left >= 0x80; left >>= 7) length.push((left & 0x7f) | 0x80);
    length.push(left);
  }
  return [Buffer.from(length), bytes];
}
