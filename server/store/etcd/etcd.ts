// The store of a cluster: records in an etcd of one or more members, reached over gRPC.
import type { Writable } from 'node:stream';
import { checkKey, checkRange, checkRev, checkText, checkTtl, checkTxn } from '../keys.ts';
import { systemLeaseClock } from '../leases.ts';
import { writeSnapshot } from '../snapshot.ts';
import { storeErrors } from '../store-errors.ts';
import type { Compare, Lease, Op, RangeOptions, Rev, StoreEvent, StoreRecord, StoreStatus } from '../store.ts';
import { StoreError } from '../store.ts';
import type { WatchBatch } from '../watch-hub.ts';
import type { EtcdBackend, EtcdHealth, EtcdStoreOptions } from './backend.ts';
import { EtcdFailure } from './failure.ts';
import { Fence } from './fence.ts';

import { becomeWriter, type ExclusiveOptions } from './holder.ts';
import { History, type RawBatch } from './history.ts';
import { Keyspace, Revisions } from './keyspace.ts';
import { beginImport, finishImport, type ImportDeps } from './import.ts';
import { EtcdLeases } from './leases.ts';
import { EtcdLink } from './link.ts';
import type { MemberOptions } from './member.ts';
import { probe, readHealth } from './probe.ts';
import { Reader } from './reader.ts';
import { openMeta, type StoreMeta } from './store-meta.ts';
import { Writer } from './writer.ts';
import { fenceOut, giveFenceBack, takeFence } from './writers.ts';

export type { EtcdBackend, EtcdHealth, EtcdStoreOptions } from './backend.ts';

/** Throws Invalid if the server cannot keep a store, Unavailable if it does not answer, Locked if another process writes to it. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<EtcdBackend> {
  if (options.writer !== undefined && options.exclusive !== undefined)
    throw new StoreError('Invalid', 'a store has one exclusive writer or many with ids, not both');
  const link = new EtcdLink(options);
  let store: EtcdStore | undefined;
  try {
    const keyspace = new Keyspace(options.name);
    await probe(link, keyspace);
    const meta = await openMeta(link, keyspace);
    if (meta.state === 'importing' && options.forImport !== true) throw unfinished(keyspace);
    const { writer, writerName = writer } = options;
    const fence =
      writer === undefined
        ? new Fence(link, meta.fence)
        : await takeFence(link, keyspace, writer, writerName ?? writer);
    store = new EtcdStore({ link, keyspace, meta, fence, options });
    if (options.exclusive !== undefined) await store.becomeWriter(options.exclusive);
    return store;
  } catch (error) {
    await store?.close();
    link.close();
    throw error instanceof EtcdFailure ? error.toStoreError() : error;
  }
}

const unfinished = ({ name }: Keyspace): StoreError =>
  new StoreError(
    'Invalid',
    `the store ${name} in etcd is not complete: the migration or restore into it must be run again`,
  );

interface EtcdStoreDeps {
  readonly link: EtcdLink;
  readonly keyspace: Keyspace;
  readonly meta: StoreMeta;
  readonly fence: Fence;
  readonly options: EtcdStoreOptions;
}

class EtcdStore implements EtcdBackend {
  #meta: StoreMeta;
  readonly #options: Pick<EtcdStoreOptions, 'writer' | 'writerName'>;
  readonly #link: EtcdLink;
  readonly #keyspace: Keyspace;
  readonly #revisions: Revisions;
  readonly #reader: Reader;
  readonly #history: History;
  readonly #fence: Fence;
  readonly #writer: Writer;
  readonly #leases: EtcdLeases;
  readonly #running = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor({ link, keyspace, meta, fence, options }: EtcdStoreDeps) {
    this.#options = options;
    this.#link = link;
    this.#keyspace = keyspace;
    this.#meta = meta;
    this.#revisions = new Revisions(meta.base);
    this.#reader = new Reader(link, keyspace, this.#revisions);
    this.#history = new History(link, keyspace.meta('store'));
    this.#fence = fence;
    const [revisions, history] = [this.#revisions, this.#history];
    this.#writer = new Writer({ link, keyspace, revisions, fence, history });
    this.#leases = new EtcdLeases(link, options.clock ?? systemLeaseClock);
  }

  get epoch(): number {
    return this.#meta.epoch;
  }

  get(key: string): Promise<StoreRecord | undefined> {
    return this.#run(() => {
      checkKey(key);
      return this.#reader.get(key);
    });
  }

  range(prefix: string, options: RangeOptions = {}): Promise<{ rev: Rev; records: StoreRecord[] }> {
    return this.#run(() => {
      checkRange(prefix, options);
      return this.#reader.range(prefix, options);
    });
  }

  txn(ifAll: readonly Compare[], then: readonly Op[]): Promise<{ ok: boolean; rev: Rev }> {
    return this.#run(() => {
      checkTxn(ifAll, then);
      return this.#writer.write(ifAll, then);
    });
  }

  async *watch(prefix: string, fromRev: Rev, signal: AbortSignal): AsyncGenerator<WatchBatch, void, undefined> {
    checkText(prefix);
    checkRev(fromRev, 'watch from');
    const from = fromRev + this.#revisions.base;
    const range = this.#keyspace.records(prefix);
    if (range === undefined) return;
    const until = AbortSignal.any([signal, this.#closed.signal]);
    try {
      // Before the signal counts: missing events are reported even to a caller that needs none.
      if (!this.#closed.signal.aborted) await this.#assertComplete(from);
      for await (const batch of this.#history.watch(range, from, until)) {
        yield this.#batch(batch);
        if (until.aborted) return;
      }
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      if (error instanceof EtcdFailure && error.kind === 'compacted')
        throw storeErrors.compacted(fromRev, await this.#compactRev());
      throw asStoreError(error);
    }
  }

  lease(ttlSeconds: number): Promise<Lease> {
    return this.#run(() => {
      checkTtl(ttlSeconds);
      return this.#leases.grant(ttlSeconds);
    });
  }

  compact(keepFrom: Rev): Promise<void> {
    return this.#run(async () => {
      checkRev(keepFrom, 'compact to');
      const now = this.#revisions.fromEtcd((await this.#reader.count()).revision);
      if (keepFrom > now) throw storeErrors.futureCompaction(keepFrom, now);
      // etcd drops the deletes of the revision that it compacts to: one lower keeps those of `keepFrom`.
      const revision = this.#revisions.toEtcd(keepFrom) - 1;
      if (revision < 1) return;
      await this.#link.call('Compact', { revision }).catch((error: unknown) => {
        if (!(error instanceof EtcdFailure && error.kind === 'compacted')) throw error;
      });
      this.#history.noteCompacted(revision);
    });
  }

  status(): Promise<StoreStatus> {
    return this.#run(async () => {
      const [{ revision, records }, { dbSize }, compactRev] = await Promise.all([
        this.#reader.count(),
        this.#link.call('Status', {}),
        this.#compactRev(),
      ]);
      const rev = this.#revisions.fromEtcd(revision);
      const sizeBytes = Number(dbSize);
      return { backend: 'etcd', rev, compactRev, records, sizeBytes, storeUuid: this.#meta.storeUuid };
    });
  }

  lastWrite(): Promise<Rev> {
    return this.#run(() => this.#reader.lastWrite());
  }

  snapshot(
    sink: Writable,
    read: (records: readonly StoreRecord[]) => Promise<readonly StoreRecord[]> = (records) => Promise.resolve(records),
  ): Promise<{ rev: Rev }> {
    return this.#run(async () => {
      const { revision } = await this.#reader.count();
      const rev = this.#revisions.fromEtcd(revision);
      const reader = this.#reader;
      async function* pages(): AsyncGenerator<readonly StoreRecord[]> {
        for await (const page of reader.lasting(revision)) yield await read(page);
      }
      return await writeSnapshot(sink, { storeUuid: this.#meta.storeUuid, rev, pages });
    });
  }

  async becomeWriter(options: ExclusiveOptions): Promise<void> {
    const [link, keyspace, leases, fence] = [this.#link, this.#keyspace, this.#leases, this.#fence];
    await becomeWriter({ link, keyspace, leases, fence }, options);
  }

  useEndpoints(endpoints: readonly string[]): void {
    this.#link.useEndpoints(endpoints);
  }

  useTls(tls: MemberOptions['tls']): void {
    this.#link.useTls(tls);
  }

  fenceOut(writer: string): Promise<void> {
    const { writerName, writer: own = 'another daemon' } = this.#options;
    const other = { id: writer, by: writerName ?? own };
    return this.#run(() => fenceOut(this.#link, this.#keyspace, this.#fence, other));
  }

  health(): Promise<EtcdHealth> {
    return this.#run(() => readHealth(this.#link));
  }

  beginImport(replace: boolean): Promise<void> {
    return this.#run(async () => {
      this.#meta = await beginImport(this.#importDeps, replace);
    });
  }

  finishImport(): Promise<{ storeUuid: string; epoch: number }> {
    return this.#run(async () => {
      const { storeUuid, epoch } = (this.#meta = await finishImport(this.#importDeps));
      return { storeUuid, epoch };
    });
  }

  get #importDeps(): ImportDeps {
    const [link, keyspace, reader, writer] = [this.#link, this.#keyspace, this.#reader, this.#writer];
    return { link, keyspace, reader, writer, meta: this.#meta };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#running);
    await this.#leases.closeAll();
    if (this.#options.writer !== undefined) await giveFenceBack(this.#link, this.#fence).catch(() => {});
    this.#closed.abort();
    this.#link.close();
  }

  /** `close` waits for calls that began before it. */
  async #run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw storeErrors.closed();
    const running = call();
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      throw asStoreError(error);
    } finally {
      this.#running.delete(running);
    }
  }

  async #assertComplete(from: number): Promise<void> {
    if (await this.#history.isReadable(from - 1)) return;
    throw new EtcdFailure('compacted', 'Compacted', 'etcd has removed the history of that revision');
  }

  /** The oldest revision of the store whose events are complete. */
  async #compactRev(): Promise<Rev> {
    const compacted = await this.#history.compacted();
    return compacted === 0 ? 0 : Math.max(0, compacted + 1 - this.#revisions.base);
  }

  #batch({ revision, events }: RawBatch): WatchBatch {
    const rev = this.#revisions.fromEtcd(revision);
    return { rev, events: events.map((event): StoreEvent => this.#event(event)) };
  }

  #event({ type, kv }: RawBatch['events'][number]): StoreEvent {
    if (type === 'PUT') return { type: 'put', record: this.#reader.record(kv) };
    const key = this.#keyspace.recordKey(kv.key) ?? kv.key.toString();
    return { type: 'del', key, modRev: this.#revisions.fromEtcd(kv.modRevision) };
  }
}

function asStoreError(error: unknown): unknown {
  if (!(error instanceof EtcdFailure)) return error;
  return error.kind === 'unreachable' || error.kind === 'token'
    ? new StoreError('Unavailable', error.message, { cause: error.cause })
    : error.toStoreError();
}
