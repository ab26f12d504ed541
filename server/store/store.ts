// The whole store contract on one page: an ordered key-value space with revisions, transactions, watches and leases. Implementations:
// memory.ts (the readable reference), sqlite.ts (the default), etcd/ (for clusters). Knows nothing about the stored data.
import type { Writable } from 'node:stream';

/** A revision of the whole store; every successful transaction that changes something has its own. Below 2^53. */
export type Rev = number;

/** One record. `createRev`: when the key was last created; `modRev`: last change; `version`: 1 at creation, +1 a change. */
export interface StoreRecord {
  readonly key: string;
  /** Read only: it may be shared with other readers. */
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

/** The store keeps a lease alive while its holder runs: it ends by revoke, by close, by the holder's death, or if the holder stalls for
 *  longer than the time to live. */
export interface Lease {
  readonly id: string;
  /** Resolves when the lease has ended (revoked, expired or the store closed) and its keys are deleted. */
  readonly lost: Promise<void>;
  /** On the clock of performance.now(), from before the last renewal was sent: the store ends the lease no earlier. */
  heldUntilMs(): number;
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

export interface RangeOptions {
  readonly limit?: number;
  /** Exclusive start key, for paging; it need not exist. */
  readonly after?: string;
}

export interface Store {
  /** Linearizable read. Throws Corrupt if the record's checksum does not match. */
  get(key: string): Promise<StoreRecord | undefined>;
  /** Records whose key starts with `prefix`, in bytewise key order, as of one revision. */
  range(
    prefix: string,
    options?: RangeOptions,
  ): Promise<{ readonly rev: Rev; readonly records: readonly StoreRecord[] }>;
  /** Limits are those of `storeLimits`; a key may occur only once in `then`; `lease` must be alive (else Invalid). Applies `then` if every
   *  compare holds, durably before it resolves; otherwise changes nothing and returns ok: false. A transaction that changes nothing
   *  (failed, or deletes of absent keys only) does not move the revision. Concurrent calls may be applied in any order. */
  txn(ifAll: readonly Compare[], then: readonly Op[]): Promise<{ readonly ok: boolean; readonly rev: Rev }>;
  /** Whole transactions touching `prefix`, each once and in order, from `fromRev` (inclusive) on; throws Compacted when
   *  `fromRev` < compactRev (a watch from exactly compactRev is allowed). Ends when the signal aborts or the store closes. */
  watch(
    prefix: string,
    fromRev: Rev,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly rev: Rev; readonly events: readonly StoreEvent[] }>;
  lease(ttlSeconds: number): Promise<Lease>;
  /** Removes watch history below `keepFrom`; current records stay. An older `keepFrom` is a no-op, a future revision is Invalid. */
  compact(keepFrom: Rev): Promise<void>;
  status(): Promise<StoreStatus>;
  /** Linearizable: the revision of the newest transaction that changed something, 0 before the first. May leave out deletes by the end of a
   *  lease. A watch of '' delivers this revision: a reader that has seen it has seen everything acknowledged before. */
  lastWrite(): Promise<Rev>;
  /** Writes a portable NDJSON dump (header line, then {key, value(base64)} lines) of one revision. Omits records held by a lease: after a
   *  restore they have no holder. */
  snapshot(sink: Writable): Promise<{ readonly rev: Rev }>;
  /** Waits for earlier calls, ends leases and watches; afterwards every call throws Unavailable. Idempotent. */
  close(): Promise<void>;
}

/** The smallest limits of all backends, enforced by every one of them. */
export const storeLimits = {
  /** etcd allows 128 operations and 128 compares, of which its store needs some for itself. */
  opsPerTxn: 120,
  comparesPerTxn: 120,
  valueBytes: 1024 * 1024,
  /** Keys and values of one transaction together: etcd refuses requests above 1.5 MiB. */
  txnBytes: 1280 * 1024,
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
