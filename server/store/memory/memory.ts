// The store in memory: the readable reference model of the contract, and the store of simulated daemons. Not persistent.
import { randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import { checkKey, checkRange, checkRev, checkTtl, checkTxn, compareKeys, opKey } from '../keys.ts';
import { LeaseBook, type LeaseClock, systemLeaseClock } from '../leases.ts';
import { writeSnapshot } from '../snapshot.ts';
import { storeErrors } from '../store-errors.ts';
import type { Compare, Lease, Op, RangeOptions, Rev, Store, StoreEvent, StoreRecord, StoreStatus } from '../store.ts';
import { type HistoryPage, type WatchBatch, WatchHub } from '../watch-hub.ts';

export interface MemoryStoreOptions {
  readonly clock?: LeaseClock;
  /** Older revisions are compacted automatically. */
  readonly maxRevisions?: number;
}

type HeldRecord = { readonly record: StoreRecord; readonly lease: string | undefined };

export function openMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options);
}

class MemoryStore implements Store {
  readonly #storeUuid = randomUUID();
  readonly #maxRevisions: number;
  readonly #records = new Map<string, HeldRecord>();
  readonly #leases = new Set<string>();
  readonly #book: LeaseBook;
  readonly #hub: WatchHub;
  #history: WatchBatch[] = [];
  #rev: Rev = 0;
  #compactRev: Rev = 0;
  #closing: Promise<void> | undefined;

  constructor(options: MemoryStoreOptions) {
    this.#maxRevisions = options.maxRevisions ?? 10_000;
    this.#book = new LeaseBook({ clock: options.clock ?? systemLeaseClock, drop: async (id) => this.#dropLease(id) });
    this.#hub = new WatchHub({
      rev: this.#rev,
      compactRev: () => this.#compactRev,
      readHistory: async (_prefix, fromRev) => this.#readHistory(fromRev),
    });
  }

  async get(key: string): Promise<StoreRecord | undefined> {
    this.#assertOpen();
    checkKey(key);
    const ofLease = this.#records.get(key);
    return ofLease && copyOf(ofLease.record);
  }

  async range(prefix: string, options: RangeOptions = {}): Promise<{ rev: Rev; records: StoreRecord[] }> {
    this.#assertOpen();
    checkRange(prefix, options);
    const { after, limit } = options;
    const keys = [...this.#records.keys()].filter((key) => key.startsWith(prefix));
    const wanted = after === undefined ? keys : keys.filter((key) => compareKeys(key, after) > 0);
    const page = wanted.sort(compareKeys).slice(0, limit);
    return { rev: this.#rev, records: page.flatMap((key) => this.#records.get(key)?.record ?? []).map(copyOf) };
  }

  async txn(ifAll: readonly Compare[], then: readonly Op[]): Promise<{ ok: boolean; rev: Rev }> {
    this.#assertOpen();
    checkTxn(ifAll, then);
    const holds = ({ key, modRev }: Compare): boolean => (this.#records.get(key)?.record.modRev ?? 0) === modRev;
    if (!ifAll.every(holds)) return { ok: false, rev: this.#rev };
    for (const op of then) {
      if ('put' in op && op.lease !== undefined && !this.#leases.has(op.lease)) throw storeErrors.noLease(op.lease);
    }
    this.#apply(then);
    return { ok: true, rev: this.#rev };
  }

  watch(prefix: string, fromRev: Rev, signal: AbortSignal): AsyncIterable<WatchBatch> {
    return this.#hub.watch(prefix, fromRev, signal);
  }

  async lease(ttlSeconds: number): Promise<Lease> {
    this.#assertOpen();
    checkTtl(ttlSeconds);
    const id = randomUUID();
    this.#leases.add(id);
    return this.#book.hold(id, ttlSeconds);
  }

  async compact(keepFrom: Rev): Promise<void> {
    this.#assertOpen();
    checkRev(keepFrom, 'compact to');
    if (keepFrom > this.#rev) throw storeErrors.futureCompaction(keepFrom, this.#rev);
    this.#forgetBelow(keepFrom);
  }

  async status(): Promise<StoreStatus> {
    this.#assertOpen();
    let sizeBytes = 0;
    for (const { record } of this.#records.values())
      sizeBytes += Buffer.byteLength(record.key) + record.value.byteLength;
    return {
      backend: 'memory',
      rev: this.#rev,
      compactRev: this.#compactRev,
      records: this.#records.size,
      sizeBytes,
      storeUuid: this.#storeUuid,
    };
  }

  async lastWrite(): Promise<Rev> {
    this.#assertOpen();
    return this.#rev;
  }

  async snapshot(sink: Writable): Promise<{ rev: Rev }> {
    this.#assertOpen();
    const lasting = [...this.#records.values()].filter(({ lease }) => lease === undefined).map(({ record }) => record);
    lasting.sort((a, b) => compareKeys(a.key, b.key));
    const pages = async function* (): AsyncGenerator<readonly StoreRecord[]> {
      yield lasting;
    };
    return await writeSnapshot(sink, { storeUuid: this.#storeUuid, rev: this.#rev, pages });
  }

  close(): Promise<void> {
    this.#closing ??= this.#book.closeAll().then(() => this.#hub.end());
    return this.#closing;
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw storeErrors.closed();
  }

  #apply(ops: readonly Op[]): void {
    const rev = this.#rev + 1;
    const events = ops.flatMap((op) => this.#applyOp(op, rev) ?? []);
    if (events.length === 0) return;
    this.#rev = rev;
    this.#history.push({ rev, events });
    if (this.#history.length > this.#maxRevisions * 1.1) this.#forgetBelow(rev - this.#maxRevisions + 1);
    this.#hub.publish(rev, () => events);
  }

  #applyOp(op: Op, modRev: Rev): StoreEvent | undefined {
    const key = opKey(op);
    const old = this.#records.get(key)?.record;
    if ('del' in op) {
      return this.#records.delete(key) ? { type: 'del', key, modRev } : undefined;
    }
    const version = (old?.version ?? 0) + 1;
    const record = { key, value: op.value, createRev: old?.createRev ?? modRev, modRev, version };
    this.#records.set(key, { record: copyOf(record), lease: op.lease });
    return { type: 'put', record: copyOf(record) };
  }

  #dropLease(id: string): void {
    const ofLease = [...this.#records].filter(([, { lease }]) => lease === id).map(([key]) => key);
    this.#apply(ofLease.sort(compareKeys).map((key) => ({ del: key })));
    this.#leases.delete(id);
  }

  #forgetBelow(keepFrom: Rev): void {
    if (keepFrom <= this.#compactRev) return;
    this.#compactRev = keepFrom;
    this.#history = this.#history.filter((batch) => batch.rev >= keepFrom);
  }

  #readHistory(fromRev: Rev): HistoryPage {
    if (fromRev < this.#compactRev) throw storeErrors.compacted(fromRev, this.#compactRev);
    return { batches: this.#history.filter((batch) => batch.rev >= fromRev), through: this.#rev };
  }
}

/** Values never share memory with the caller's, as if read from a disk. */
function copyOf(record: StoreRecord): StoreRecord {
  return { ...record, value: new Uint8Array(record.value) };
}
