// The store that the daemon has open: another one after the host has joined a cluster or left it.
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { Records } from '../../records/records.ts';
import type { MemberOptions } from '../../store/etcd/member.ts';
import type { Store } from '../../store/store.ts';
import type { OpenedStore } from './open-store.ts';

export class CurrentStore {
  readonly #log: Log;
  #opened: OpenedStore;
  #records: Records | undefined;

  constructor(opened: OpenedStore, log: Log) {
    this.#opened = opened;
    this.#log = log;
  }

  get store(): Store {
    return this.#opened.store;
  }

  /** What an operator has to know of it; undefined: all is well. */
  get problem(): string | undefined {
    return this.#opened.problem?.();
  }

  /** Keeps the records as the store has them. */
  follow(records: Records): void {
    this.#records = records;
    this.#opened.follow(records);
  }

  /** Records are in `opened` now, as `Records.moveTo` has read them; the former store is closed. */
  replace(opened: OpenedStore): void {
    const former = this.#opened;
    this.#opened = opened;
    if (this.#records !== undefined) opened.follow(this.#records);
    former.close().catch((error: unknown) => this.#log.warn(`Closing the former store failed: ${errorText(error)}`));
  }

  /** The same, but the former store is closed when it resolves: nothing that others write to it comes after that. */
  async replaceEnded(opened: OpenedStore): Promise<void> {
    const former = this.#opened;
    this.#opened = opened;
    await former.close().catch((error: unknown) => {
      this.#log.warn(`Closing the former store failed: ${errorText(error)}`);
    });
    if (this.#records !== undefined) opened.follow(this.#records);
  }

  /** Throws an Error outside a cluster. */
  async fenceOut(writer: string): Promise<void> {
    if (this.#opened.fenceOut === undefined) throw new Error('the store has no other writers');
    await this.#opened.fenceOut(writer);
  }

  /** Follows the store of a cluster whose etcds have changed. */
  useEndpoints(endpoints: readonly string[]): void {
    this.#opened.useEndpoints?.(endpoints);
  }

  /** Changes the TLS files of the open store when the cluster's authority has changed. */
  useTls(tls: MemberOptions['tls']): void {
    this.#opened.useTls?.(tls);
  }

  /** Encrypts again what an older key has encrypted; 0 for the store of a single host. */
  async renew(signal: AbortSignal): Promise<number> {
    return (await this.#opened.renew?.(signal)) ?? 0;
  }

  close(): Promise<void> {
    return this.#opened.close();
  }
}
