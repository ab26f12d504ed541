// A store that encrypts values before they go to etcd. The vault has the keys; etcd never does.
import type { Writable } from 'node:stream';
import type { Compare, Lease, Op, RangeOptions, Rev, StoreEvent, StoreRecord, StoreStatus } from './store.ts';
import { StoreError, storeLimits } from './store.ts';
import type { EtcdBackend, EtcdHealth } from './etcd/backend.ts';
import type { MemberOptions } from './etcd/member.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export interface Vault {
  /** Returns the value itself if it needs no encryption. */
  seal(key: string, value: Uint8Array): Uint8Array;
  /** Undefined: the vault lacks its key. */
  unseal(key: string, value: Uint8Array): Uint8Array | undefined;
  /** The unencrypted record that contains newer keys. */
  readonly record: string;
  learn(record: Uint8Array): void;
  /** It is not encrypted with the newest key. */
  isOld(key: string, value: Uint8Array): boolean;
}

export class SealedStore implements EtcdBackend {
  readonly #store: EtcdBackend;
  readonly #vault: Vault;

  constructor(store: EtcdBackend, vault: Vault) {
    this.#store = store;
    this.#vault = vault;
  }

  async get(key: string): Promise<StoreRecord | undefined> {
    const record = await this.#store.get(key);
    return record && (await this.#opened(record));
  }

  async range(prefix: string, options?: RangeOptions): Promise<{ rev: Rev; records: readonly StoreRecord[] }> {
    const { rev, records } = await this.#store.range(prefix, options);
    return { rev, records: await this.#allOpened(records) };
  }

  txn(ifAll: readonly Compare[], then: readonly Op[]): Promise<{ readonly ok: boolean; readonly rev: Rev }> {
    const sealed = then.map((op) => ('put' in op ? { ...op, value: this.#vault.seal(op.put, op.value) } : op));
    return this.#store.txn(ifAll, sealed);
  }

  async *watch(
    prefix: string,
    fromRev: Rev,
    signal: AbortSignal,
  ): AsyncGenerator<{ rev: Rev; events: readonly StoreEvent[] }, void, undefined> {
    for await (const { rev, events } of this.#store.watch(prefix, fromRev, signal)) {
      const opened: StoreEvent[] = [];
      for (const event of events)
        opened.push(event.type === 'put' ? { ...event, record: await this.#opened(event.record) } : event);
      yield { rev, events: opened };
    }
  }

  /** Encrypts again every value that is plain or has an older key. Others may write in parallel: their values use the new key. Returns the
   *  number of values. */
  async renew(signal: AbortSignal): Promise<number> {
    let renewed = 0;
    for (let after: string | undefined; !signal.aborted;) {
      const { records } = await this.#store.range('/', {
        limit: pageRecords,
        ...withoutUndefined({ after }),
      });
      for (const record of records) {
        if (signal.aborted) break;
        if (!this.#vault.isOld(record.key, record.value)) continue;
        const { key, modRev, value } = await this.#opened(record);
        await this.txn([{ key, modRev }], [{ put: key, value }]);
        renewed += 1;
      }
      after = records.at(-1)?.key;
      if (records.length < pageRecords) break;
    }
    return renewed;
  }

  /** Decrypted: a backup must stay readable after the keys are lost. */
  snapshot(sink: Writable): Promise<{ readonly rev: Rev }> {
    return this.#store.snapshot(sink, (records) => this.#allOpened(records));
  }

  get epoch(): number {
    return this.#store.epoch;
  }
  lease(ttlSeconds: number): Promise<Lease> {
    return this.#store.lease(ttlSeconds);
  }
  compact(keepFrom: Rev): Promise<void> {
    return this.#store.compact(keepFrom);
  }
  status(): Promise<StoreStatus> {
    return this.#store.status();
  }
  lastWrite(): Promise<Rev> {
    return this.#store.lastWrite();
  }
  health(): Promise<EtcdHealth> {
    return this.#store.health();
  }
  fenceOut(writer: string): Promise<void> {
    return this.#store.fenceOut(writer);
  }
  useEndpoints(endpoints: readonly string[]): void {
    this.#store.useEndpoints(endpoints);
  }
  useTls(tls: MemberOptions['tls']): void {
    this.#store.useTls(tls);
  }
  beginImport(replace: boolean): Promise<void> {
    return this.#store.beginImport(replace);
  }
  finishImport(): Promise<{ readonly storeUuid: string; readonly epoch: number }> {
    return this.#store.finishImport();
  }
  close(): Promise<void> {
    return this.#store.close();
  }

  async #allOpened(records: readonly StoreRecord[]): Promise<readonly StoreRecord[]> {
    const opened: StoreRecord[] = [];
    for (const record of records) opened.push(await this.#opened(record));
    return opened;
  }

  /** Another member may already use a newer key: the record of the keys, written before that, contains it. */
  async #opened(record: StoreRecord): Promise<StoreRecord> {
    const { key, value } = record;
    const known = this.#vault.unseal(key, value);
    if (known !== undefined) return known === value ? record : { ...record, value: known };
    const keys = await this.#store.get(this.#vault.record);
    if (keys !== undefined) this.#vault.learn(keys.value);
    const learned = this.#vault.unseal(key, value);
    if (learned === undefined)
      throw new StoreError('Corrupt', `The value of ${key} is encrypted with a key that this host does not have`);
    return { ...record, value: learned };
  }
}

const pageRecords = Math.min(100, storeLimits.opsPerTxn);
