// The default store: one SQLite file, reached through a worker thread with exclusive access. This side queues, checks, fans out.
import { randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import { checkKey, checkRange, checkRev, checkTtl, checkTxn, opKey } from '../keys.ts';
import { compiledBeside } from '../../lib/shared/ask-thread.ts';
import { LeaseBook, type LeaseClock, systemLeaseClock } from '../leases.ts';
import { writeSnapshot } from '../snapshot.ts';
import { SqliteLink } from './link.ts';
import { unpackRecords } from './packing.ts';
import type { Effect, HistoryLimits, WireTxn } from './protocol.ts';
import { SqliteWriteQueue } from './write-queue.ts';
import { storeErrors } from '../store-errors.ts';
import {
  type Compare,
  type Lease,
  type Op,
  type RangeOptions,
  type Rev,
  type Store,
  type StoreEvent,
  type StoreRecord,
  type StoreStatus,
} from '../store.ts';
import { type WatchBatch, WatchHub } from '../watch-hub.ts';

export interface SqliteStoreOptions {
  /** The file; it is created with mode 0600, its directory must exist. */
  readonly path: string;
  readonly clock?: LeaseClock;
  /** How long to wait for a process that is closing the same store. */
  readonly lockTimeoutMs?: number;
  readonly history?: Partial<HistoryLimits>;
}

const defaultHistory: HistoryLimits = { minRevisions: 1_000, maxAgeMs: 10 * 60_000, maxRevisions: 10_000 };

/** Throws Locked when another process has the file open, Corrupt when it cannot be read. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { path, lockTimeoutMs = 1_000 } = options;
  let store: SqliteStore | undefined;
  const link = new SqliteLink(compiledBeside(import.meta.url, './sqlite-worker.js'), (error) =>
    store?.noteDeath(error),
  );
  try {
    const history = { ...defaultHistory, ...options.history };
    const start = await link.call('open', { path, lockTimeoutMs, history });
    store = new SqliteStore({ link, start, clock: options.clock ?? systemLeaseClock });
    return store;
  } catch (error) {
    await link.terminate();
    throw error;
  }
}

interface SqliteStoreDeps {
  readonly link: SqliteLink;
  readonly start: { readonly rev: Rev; readonly compactRev: Rev };
  readonly clock: LeaseClock;
}

class SqliteStore implements Store {
  readonly #link: SqliteLink;
  readonly #queue: SqliteWriteQueue;
  readonly #hub: WatchHub;
  readonly #book: LeaseBook;
  #compactRev: Rev;
  #closing: Promise<void> | undefined;

  constructor({ link, start, clock }: SqliteStoreDeps) {
    this.#link = link;
    this.#compactRev = start.compactRev;
    this.#book = new LeaseBook({ clock, drop: (id) => this.#dropLease(id) });
    this.#hub = new WatchHub({
      rev: start.rev,
      compactRev: () => this.#compactRev,
      readHistory: (prefix, fromRev) => this.#link.call('history', { prefix, fromRev }),
    });
    this.#queue = new SqliteWriteQueue({
      link,
      onCommitted: (txn, { rev, effects }) => this.#hub.publish(rev, () => eventsOf(txn, rev, effects)),
      onCompactRev: (compactRev) => {
        this.#compactRev = compactRev;
      },
    });
  }

  async get(key: string): Promise<StoreRecord | undefined> {
    this.#assertOpen();
    checkKey(key);
    return await this.#link.call('get', { key });
  }

  async range(prefix: string, options: RangeOptions = {}): Promise<{ rev: Rev; records: StoreRecord[] }> {
    this.#assertOpen();
    checkRange(prefix, options);
    const { rev, packed } = await this.#link.call('range', { prefix, limit: options.limit, after: options.after });
    return { rev, records: unpackRecords(packed) };
  }

  async txn(ifAll: readonly Compare[], then: readonly Op[]): Promise<{ ok: boolean; rev: Rev }> {
    this.#assertOpen();
    checkTxn(ifAll, then);
    return await this.#queue.submit({ ifAll: ifAll.map(({ key, modRev }) => ({ key, modRev })), ops: then.map(ownOp) });
  }

  watch(prefix: string, fromRev: Rev, signal: AbortSignal): AsyncIterable<WatchBatch> {
    return this.#hub.watch(prefix, fromRev, signal);
  }

  async lease(ttlSeconds: number): Promise<Lease> {
    this.#assertOpen();
    checkTtl(ttlSeconds);
    const id = randomUUID();
    await this.#link.call('grantLease', { id, ttlSeconds });
    return this.#book.hold(id, ttlSeconds);
  }

  async compact(keepFrom: Rev): Promise<void> {
    this.#assertOpen();
    checkRev(keepFrom, 'compact to');
    this.#compactRev = (await this.#link.call('compact', { keepFrom })).compactRev;
  }

  async status(): Promise<StoreStatus> {
    this.#assertOpen();
    return { backend: 'sqlite', ...(await this.#link.call('status', undefined)) };
  }

  async lastWrite(): Promise<Rev> {
    this.#assertOpen();
    return this.#hub.lastRev;
  }

  async snapshot(sink: Writable): Promise<{ rev: Rev }> {
    this.#assertOpen();
    const link = this.#link;
    const { id, rev, storeUuid } = await link.call('openSnapshot', undefined);
    const pages = async function* (): AsyncGenerator<readonly StoreRecord[]> {
      for (let after: string | undefined; ;) {
        const page = unpackRecords((await link.call('readSnapshot', { id, after })).packed);
        if (page.length === 0) return;
        yield page;
        after = page.at(-1)?.key;
      }
    };
    try {
      return await writeSnapshot(sink, { storeUuid, rev, pages });
    } finally {
      await link.call('closeSnapshot', { id });
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The worker has ended: reads and writes are impossible. */
  noteDeath(error: Error): void {
    this.#book.forgetAll();
    this.#hub.end(error);
  }

  async #close(): Promise<void> {
    await this.#queue.drained();
    await this.#book.closeAll();
    this.#hub.end();
    try {
      await this.#link.call('close', undefined);
    } finally {
      await this.#link.terminate();
      // For a lease granted during the close: without an open store it has no keys.
      this.#book.forgetAll();
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw storeErrors.closed();
  }

  async #dropLease(id: string): Promise<void> {
    await this.#link.call('dropLease', { id }, ({ rev, deleted }) => {
      if (deleted.length > 0) this.#hub.publish(rev, () => deleted.map((key) => ({ type: 'del', key, modRev: rev })));
    });
  }
}

/** Copies, because the caller may reuse its buffer, and a view into a shared pool would transfer the whole pool to the worker. */
function ownOp(op: Op): Op {
  if ('del' in op) return { del: op.del };
  const value = new Uint8Array(op.value);
  return op.lease === undefined ? { put: op.put, value } : { put: op.put, value, lease: op.lease };
}

function eventsOf({ ops }: WireTxn, rev: Rev, effects: readonly Effect[]): StoreEvent[] {
  return ops.flatMap((op, index): StoreEvent[] => {
    const effect = effects[index];
    if (effect === undefined || effect === 'none') return [];
    if (effect === 'deleted' || 'del' in op) return [{ type: 'del', key: opKey(op), modRev: rev }];
    return [{ type: 'put', record: { key: op.put, value: op.value, ...effect, modRev: rev } }];
  });
}
