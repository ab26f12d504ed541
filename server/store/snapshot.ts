// The portable dump of a store: one NDJSON header line, then one line a record; equal text from every backend.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { Rev, StoreRecord } from './store.ts';

export const snapshotFormat = { format: 'gantry-store-snapshot', version: 1 } as const;

export interface SnapshotHeader {
  readonly format: string;
  readonly version: number;
  readonly storeUuid: string;
  readonly rev: Rev;
  readonly records: number;
  /** Over all lines after the header. */
  readonly sha256: string;
}

export interface SnapshotSource {
  readonly storeUuid: string;
  readonly rev: Rev;
  /** Must return the same records each time: it is read twice, first for the checksum. */
  readonly pages: () => AsyncIterable<readonly StoreRecord[]>;
}

export async function writeSnapshot(sink: Writable, source: SnapshotSource): Promise<{ rev: Rev }> {
  const hash = createHash('sha256');
  let records = 0;
  for await (const page of source.pages()) {
    hash.update(renderPage(page));
    records += page.length;
  }
  const { storeUuid, rev } = source;
  const header: SnapshotHeader = { ...snapshotFormat, storeUuid, rev, records, sha256: hash.digest('hex') };
  await write(sink, `${JSON.stringify(header)}\n`);
  for await (const page of source.pages()) await write(sink, renderPage(page));
  return { rev };
}

function renderPage(page: readonly StoreRecord[]): string {
  return page.map(({ key, value }) => `${JSON.stringify({ key, value: toBase64(value) })}\n`).join('');
}

function toBase64(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
}

async function write(sink: Writable, text: string): Promise<void> {
  if (sink.errored) throw sink.errored;
  // `once` also rejects when the sink fails instead of draining.
  if (text !== '' && !sink.write(text)) await once(sink, 'drain');
}
