// The whole store contract on one page: an ordered key-value space with revisions, transactions, watches and leases.
// Implementations: memory.ts (the readable reference), sqlite.ts (the default). Knows nothing of what is stored.
import type { Writable } from 'node:stream';

/** A revision of the whole store; every successful transaction that changes something has its own. Below 2^53. */
export type Rev = number;

/** One record. `createRev`: when the key last came into being; `modRev`: last change; `version`: 1 at creation, +1 a change. */
export interface StoreRecord {
  readonly key: string;
  readonly value: Uint8Array;
  readonly createRev: Rev;
  readonly modRev: Rev;
  readonly version: number;
}

export type Compare = { readonly key: string; /** 0 = must be absent */ readonly modRev: Rev };

export type Op =
  | { readonly put: string; readonly value: Uint8Array; readonly lease?: string }
  | { readonly del: string };

export type StoreEvent =
  | { readonly type: 'put'; readonly record: StoreRecord }
  | { readonly type: 'del'; readonly key: string; readonly modRev: Rev };

export interface Lease {
  readonly id: string;
  /** Resolves when the lease is gone (revoked, expired or the store closed); its keys are deleted by then. */
  readonly lost: Promise<void>;
  revoke(): Promise<void>;
}

export interface StoreStatus {
  readonly backend: 'memory' | 'sqlite' | 'etcd';
  readonly rev: Rev;
  readonly compactRev: Rev;
  readonly records: number;
  readonly sizeBytes: number;
  /** Changes on every restore: revisions from another uuid mean nothing here. */
  readonly storeUuid: string;
}

export interface Store {
  /** Linearizable read. Throws Corrupt when the record's checksum does not hold. */
  get(key: string): Promise<StoreRecord | undefined>;
  /** Records whose key starts with `prefix`, in bytewise key order, as of one revision. `after`: exclusive start key. */
  range(
    prefix: string,
    options?: { readonly limit?: number; readonly after?: string },
  ): Promise<{ readonly rev: Rev; readonly records: readonly StoreRecord[] }>;
  /** Applies `then` when every compare holds, durably before it resolves; otherwise changes nothing and says ok: false.
   *  A transaction that changes nothing (failed, or deletes of absent keys only) does not move the revision. */
  txn(ifAll: readonly Compare[], then: readonly Op[]): Promise<{ readonly ok: boolean; readonly rev: Rev }>;
  /** Whole transactions touching `prefix`, each once and in order, from `fromRev` (inclusive) on; throws Compacted when
   *  `fromRev` < compactRev (a watch from exactly compactRev is allowed). Ends when the signal aborts or the store closes. */
  watch(
    prefix: string,
    fromRev: Rev,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly rev: Rev; readonly events: readonly StoreEvent[] }>;
  lease(ttlSeconds: number): Promise<Lease>;
  /** Forgets watch history below `keepFrom`; current records stay. */
  compact(keepFrom: Rev): Promise<void>;
  status(): Promise<StoreStatus>;
  /** Writes a portable NDJSON dump (header line, then {key, value(base64)} lines) read at one revision. */
  snapshot(sink: Writable): Promise<{ readonly rev: Rev }>;
  close(): Promise<void>;
}

/** The smallest limits of all backends, enforced by every one of them. */
export const storeLimits = {
  opsPerTxn: 128,
  comparesPerTxn: 128,
  valueBytes: 1024 * 1024,
  keyBytes: 1024,
} as const;

export type StoreErrorCode =
  | 'Unknown'
  | 'Unavailable'
  | 'NoSpace'
  | 'TooLarge'
  | 'Compacted'
  | 'Corrupt'
  | 'Locked'
  | 'Invalid';

/** `Unknown` means the write may or may not have been applied; `NoSpace`, `TooLarge`, `Invalid` mean it was not. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  /** Only with Compacted: the oldest revision that can still be watched. */
  readonly compactRev: Rev | undefined;
  constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown; compactRev?: Rev }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.compactRev = options?.compactRev;
  }
}
