// Fills a store from elsewhere: from a dump file, checked before the first write, or from another store.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { type SnapshotHeader, snapshotFormat } from './snapshot.ts';
import { type Op, type Store, StoreError, storeLimits } from './store.ts';
import { attempt } from '../lib/shared/attempt.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

type Pair = { readonly key: string; readonly value: Uint8Array };

/** Throws Corrupt if the file is not a complete dump. */
export async function checkDump(path: string): Promise<SnapshotHeader> {
  const hash = createHash('sha256');
  let header: SnapshotHeader | undefined;
  let records = 0;
  for await (const line of linesOf(path)) {
    if (header === undefined) {
      header = headerOf(line, path);
      continue;
    }
    hash.update(`${line}\n`);
    records += 1;
  }
  if (header === undefined) throw new StoreError('Corrupt', `${path} is empty`);
  if (records !== header.records || hash.digest('hex') !== header.sha256) {
    throw new StoreError(
      'Corrupt',
      `${path} is damaged: ${records} of ${header.records} records, or their checksum is wrong`,
    );
  }
  return header;
}

/** Reads the pairs of a checked dump. */
export async function* readDump(path: string): AsyncGenerator<Pair> {
  let isHeader = true;
  for await (const line of linesOf(path)) {
    if (!isHeader) {
      const { key, value } = JSON.parse(line) as { key: string; value: string };
      yield { key, value: Buffer.from(value, 'base64') };
    }
    isHeader = false;
  }
}

/** Every record of a store without writers. */
export async function* readAll(store: Store): AsyncGenerator<Pair> {
  const limit = 500;
  for (let after: string | undefined; ;) {
    const { records } = await store.range('', { limit, ...withoutUndefined({ after }) });
    yield* records;
    after = records.at(-1)?.key;
    if (records.length < limit || after === undefined) return;
  }
}

/** Uses as few transactions as the limits allow. Returns the number of records. */
export async function load(store: Store, pairs: AsyncIterable<Pair> | Iterable<Pair>): Promise<number> {
  let ops: Op[] = [];
  let bytes = 0;
  let count = 0;
  const flush = async (): Promise<void> => {
    if (ops.length > 0) await store.txn([], ops);
    [ops, bytes] = [[], 0];
  };
  for await (const { key, value } of pairs) {
    const size = Buffer.byteLength(key) + value.byteLength;
    if (ops.length >= storeLimits.opsPerTxn || bytes + size > storeLimits.txnBytes) await flush();
    ops.push({ put: key, value });
    bytes += size;
    count += 1;
  }
  await flush();
  return count;
}

/** Equal for equal records in any backend. */
export async function contentsOf(store: Store): Promise<Pick<SnapshotHeader, 'records' | 'sha256'>> {
  let head = '';
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!head.includes('\n')) head += chunk.toString();
      done();
    },
  });
  await store.snapshot(sink);
  const { records, sha256 } = JSON.parse(head.slice(0, head.indexOf('\n'))) as SnapshotHeader;
  return { records, sha256 };
}

function headerOf(line: string, path: string): SnapshotHeader {
  const header = (attempt(() => JSON.parse(line) as unknown) ?? {}) as Partial<SnapshotHeader>;
  if (header.format !== snapshotFormat.format) throw new StoreError('Corrupt', `${path} is not a dump of a store`);
  if (header.version !== snapshotFormat.version)
    throw new StoreError(
      'Invalid',
      `${path} has format ${header.version}, this program reads ${snapshotFormat.version}`,
    );
  return header as SnapshotHeader;
}

const linesOf = (path: string): AsyncIterable<string> =>
  createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
