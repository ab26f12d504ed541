// How a store in etcd is opened, and what it offers beyond the contract of all stores.
import type { LeaseClock } from '../leases.ts';
import type { Writable } from 'node:stream';
import type { Rev, Store, StoreRecord } from '../store.ts';
import type { ExclusiveOptions } from './holder.ts';
import type { LinkOptions } from './link.ts';
import type { MemberOptions } from './member.ts';

export interface EtcdStoreOptions extends LinkOptions {
  /** Its keys start with /NAME/. */
  readonly name: string;
  readonly clock?: LeaseClock;
  /** This process is one of many writers; a later process with the same id replaces an earlier one. */
  readonly writer?: string;
  /** The name of this process in messages that others get. */
  readonly writerName?: string;
  /** Makes this store the only writer. */
  readonly exclusive?: ExclusiveOptions;
  /** Also opens a store whose import is unfinished. */
  readonly forImport?: boolean;
}

/** Functions of a store in etcd only. */
export interface EtcdBackend extends Store {
  readonly epoch: number;
  /** Alarms of all etcd members, and how full etcd's file is. */
  health(): Promise<EtcdHealth>;
  /** Resolves once the process with this `writer` can write nothing more: its next write throws Locked with the name of this one. */
  fenceOut(writer: string): Promise<void>;
  /** Replaces the addresses of etcd, HOST:PORT each. */
  useEndpoints(endpoints: readonly string[]): void;
  /** Replaces certificates and authorities. */
  useTls(tls: MemberOptions['tls']): void;
  /** `read` decodes each page before it is written. */
  snapshot(
    sink: Writable,
    read?: (records: readonly StoreRecord[]) => Promise<readonly StoreRecord[]>,
  ): Promise<{ readonly rev: Rev }>;
  /** Empties the store, which refuses others until the import is finished. Without `replace`, throws Invalid if it has records. */
  beginImport(replace: boolean): Promise<void>;
  /** Makes it another store, of the next epoch. */
  finishImport(): Promise<{ readonly storeUuid: string; readonly epoch: number }>;
}

export interface EtcdHealth {
  readonly alarms: readonly string[];
  readonly sizeBytes: number;
  readonly usedBytes: number;
}
