// Unpacks a tar archive, gzipped or not, into a checkout. Refuses hostile names, links, sizes and compression.
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { SourceError, sourceErrors } from '../source.ts';
import { tooLarge, type TreeLimits } from '../files/limits.ts';
import { TreeWriter } from '../files/tree-writer.ts';

export interface UnpackRequest {
  /** Folder of the archive that is wanted; empty: all of it. */
  readonly path: string;
  /** Names the archive in messages. */
  readonly what: string;
  readonly limits: TreeLimits;
}

/** `dir` exists and is empty. */
export async function unpack(
  bytes: Readable,
  request: UnpackRequest,
  dir: string,
  signal?: AbortSignal,
): Promise<void> {
  const { what, limits, path } = request;
  const writer = new TreeWriter(dir, what, limits);
  const reader = extract();
  let found = path === '';
  const entries = (async (): Promise<void> => {
    for await (const entry of reader) {
      const name = nameBelow(entry.header, path, what);
      if (name !== undefined) found ||= true;
      if (name === undefined || name === '') entry.resume();
      else {
        const contents = entry as AsyncIterable<Buffer>;
        await take(writer, { header: entry.header, name, contents, skip: () => entry.resume() }, what);
      }
    }
    await writer.finish();
  })();
  const packed = await peek(bytes);
  const steps = packed.isGzip
    ? [packed.stream, createGunzip(), limiting(what, limits)]
    : [packed.stream, limiting(what, limits)];
  const fed = pipeline([...steps, reader], signal === undefined ? {} : { signal });
  const [ofEntries, ofFeed] = await Promise.allSettled([entries, fed]);
  signal?.throwIfAborted();
  // Reports the refusal rather than the broken stream that follows from it.
  for (const settled of [ofEntries, ofFeed]) {
    if (settled.status === 'rejected' && settled.reason instanceof SourceError) throw settled.reason;
  }
  for (const settled of [ofFeed, ofEntries]) {
    if (settled.status === 'rejected') {
      throw sourceErrors.refused(`${what} is no tar archive that can be read: ${reasonOf(settled.reason)}`, {
        cause: settled.reason,
      });
    }
  }
  if (!found) throw sourceErrors.notFound(`${what} has no folder ${JSON.stringify(path)}`);
}

/** Undefined: outside the wanted folder. Empty: the folder itself. */
function nameBelow(header: Header, path: string, what: string): string | undefined {
  const name = header.name.replace(/^(\.\/)+/, '').replace(/\/+$/, '');
  if (name === '' || name === '.') return path === '' ? '' : undefined;
  if (name.split('/').includes('..') || name.startsWith('/')) {
    throw sourceErrors.refused(`${what} holds ${JSON.stringify(header.name)}, which leads out of the tree`);
  }
  if (path === '') return name;
  if (name === path) return '';
  return name.startsWith(`${path}/`) ? name.slice(path.length + 1) : undefined;
}

interface Entry {
  readonly header: Header;
  /** Below the wanted folder. */
  readonly name: string;
  readonly contents: AsyncIterable<Buffer>;
  readonly skip: () => void;
}

async function take(writer: TreeWriter, { header, name, contents, skip }: Entry, what: string): Promise<void> {
  const { type } = header;
  if (type === 'file' || type === 'contiguous-file') {
    await writer.addFile(name, contents, ((header.mode ?? 0) & 0o100) !== 0);
    return;
  }
  if (type === 'directory') await writer.addFolder(name);
  else if (type === 'symlink') writer.addLink(name, header.linkname ?? '');
  else {
    const why = `which is a ${type ?? 'thing'}: only files, folders and symbolic links are accepted`;
    throw sourceErrors.refused(`${what} holds ${JSON.stringify(name)}, ${why}`);
  }
  skip();
}

/** Counts every unpacked byte, even of skipped entries: a gigabyte of zeros packs to a megabyte. */
function limiting(what: string, limits: TreeLimits): Transform {
  let bytes = 0;
  const max = limits.bytes + limits.files * 2048 + 64 * 1024;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > max) done(tooLarge(what, limits));
      else done(null, chunk);
    },
  });
}

async function peek(stream: Readable): Promise<{ readonly stream: Readable; readonly isGzip: boolean }> {
  const iterator = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await iterator.next();
  const head = first.done === true ? Buffer.alloc(0) : first.value;
  const whole = Readable.from(
    (async function* () {
      yield head;
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value;
    })(),
    { objectMode: false },
  );
  return { stream: whole, isGzip: head[0] === 0x1f && head[1] === 0x8b };
}
