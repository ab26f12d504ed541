// What a store in etcd is opened with, and what it offers beyond the contract of all stores.
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
  /** This process is one of many writers; a later process with the same id takes the place of an earlier one. */
  readonly writer?: string;
  /** Who this process is, for the messages that others get. */
  readonly writerName?: string;
  /** This store shall be the only writer. */
  readonly exclusive?: ExclusiveOptions;
  /** Also opens a store that is not complete. */
  readonly forImport?: boolean;
}

/** What only a store in etcd can tell. */
export interface EtcdBackend extends Store {
  readonly epoch: number;
  /** Alarms of any member, and how much of etcd's file is in use. */
  health(): Promise<EtcdHealth>;
  /** When it resolves, the process with this `writer` writes nothing more: its next write throws Locked with the name of this one. */
  fenceOut(writer: string): Promise<void>;
  /** The members of etcd, HOST:PORT each, are these from now on. */
  useEndpoints(endpoints: readonly string[]): void;
  /** Certificates and authorities are these from now on. */
  useTls(tls: MemberOptions['tls']): void;
  /** `read`: what is written of the records of a page. */
  snapshot(
    sink: Writable,
    read?: (records: readonly StoreRecord[]) => Promise<readonly StoreRecord[]>,
  ): Promise<{ readonly rev: Rev }>;
  /** Empties the store, which is refused to others until the import is finished. Without `replace`, throws Invalid when it has records. */
  beginImport(replace: boolean): Promise<void>;
  /** From now on it is another store, of the next epoch. */
  finishImport(): Promise<{ readonly storeUuid: string; readonly epoch: number }>;
}

export interface EtcdHealth {
  readonly alarms: readonly string[];
  readonly sizeBytes: number;
  readonly usedBytes: number;
}
