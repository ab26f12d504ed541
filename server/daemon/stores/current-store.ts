// The daemon's open store: replaced when the host joins or leaves a cluster.
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

  /** A warning for the operator; undefined: none. */
  get problem(): string | undefined {
    return this.#opened.problem?.();
  }

  /** Keeps the records current with the store. */
  follow(records: Records): void {
    this.#records = records;
    this.#opened.follow(records);
  }

  /** Switches to `opened`, where `Records.moveTo` has moved the records; closes the former store. */
  replace(opened: OpenedStore): void {
    const former = this.#opened;
    this.#opened = opened;
    if (this.#records !== undefined) opened.follow(this.#records);
    former.close().catch((error: unknown) => this.#log.warn(`Closing the former store failed: ${errorText(error)}`));
  }

  /** Like `replace`, but resolves only after the former store is closed: no write of others arrives from it later. */
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

  useEndpoints(endpoints: readonly string[]): void {
    this.#opened.useEndpoints?.(endpoints);
  }

  /** Replaces the TLS files of the open store after the cluster's authority changed. */
  useTls(tls: MemberOptions['tls']): void {
    this.#opened.useTls?.(tls);
  }

  /** Encrypts again what an older key encrypted; 0 for the store of a single host. */
  async renew(signal: AbortSignal): Promise<number> {
    return (await this.#opened.renew?.(signal)) ?? 0;
  }

  close(): Promise<void> {
    return this.#opened.close();
  }
}
