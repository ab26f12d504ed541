// Helpers for tests of stores: short operations, a watcher that collects events, and an open store in a temporary directory.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { Op, Rev, Store, StoreEvent } from '../../../server/store/store.ts';
import type { WatchBatch } from '../../../server/store/watch-hub.ts';

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const text = (value: Uint8Array | undefined): string | undefined => value && new TextDecoder().decode(value);
export const put = (key: string, value = '', lease?: string): Op =>
  lease === undefined ? { put: key, value: bytes(value) } : { put: key, value: bytes(value), lease };
export const del = (key: string): Op => ({ del: key });

/** One line an event: `3 put a=x` or `4 del a`. */
export function renderBatch({ rev, events }: WatchBatch): string {
  return `${rev} ${events.map(renderEvent).join(', ')}`;
}

function renderEvent(event: StoreEvent): string {
  return event.type === 'del' ? `del ${event.key}` : `put ${event.record.key}=${text(event.record.value)}`;
}

export interface Gathering {
  readonly batches: readonly WatchBatch[];
  readonly lines: () => string[];
  /** Resolves when the watch ends by itself; rejects with its error. */
  readonly ended: Promise<void>;
  readonly stop: () => Promise<void>;
}

export function gather(store: Store, prefix: string, fromRev: Rev): Gathering {
  const abort = new AbortController();
  const batches: WatchBatch[] = [];
  const run = async (): Promise<void> => {
    for await (const batch of store.watch(prefix, fromRev, abort.signal)) batches.push(batch);
  };
  const ended = run();
  ended.catch(() => {});
  const stop = async (): Promise<void> => {
    abort.abort();
    await ended;
  };
  return { batches, lines: () => batches.map(renderBatch), ended, stop };
}

/** The batches of a watch up to the store's present revision. */
export async function watched(store: Store, prefix: string, fromRev: Rev): Promise<string[]> {
  const { rev } = await store.txn([], [put('/~mark', String(Math.random()))]);
  const abort = new AbortController();
  const lines: string[] = [];
  for await (const batch of store.watch('', fromRev, abort.signal)) {
    if (batch.rev === rev) break;
    const events = batch.events.filter((event) =>
      (event.type === 'put' ? event.record.key : event.key).startsWith(prefix),
    );
    if (events.length > 0) lines.push(renderBatch({ rev: batch.rev, events }));
  }
  return lines;
}

export function textSink(): { sink: Writable; text: () => string } {
  const chunks: Buffer[] = [];
  const sink = new Writable({
    highWaterMark: 1024,
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      setImmediate(done);
    },
  });
  return { sink, text: () => Buffer.concat(chunks).toString() };
}

export function tempDir(): { path: string; file: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'gantry-store-'));
  return { path, file: join(path, 'store.db'), remove: () => rmSync(path, { recursive: true, force: true }) };
}
