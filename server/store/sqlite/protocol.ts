// The calls between the store on the main thread and its SQLite worker: plain data only, one reply a call, in order.
import type { PackedRecords } from './packing.ts';
import type { Compare, Op, Rev, StoreErrorCode, StoreRecord, StoreStatus } from '../store.ts';
import type { HistoryPage } from '../watch-hub.ts';

export interface HistoryLimits {
  /** Number of newest revisions that always stay. */
  readonly minRevisions: number;
  /** Revisions younger than this stay too ... */
  readonly maxAgeMs: number;
  /** ... up to this many. */
  readonly maxRevisions: number;
}

export interface OpenRequest {
  readonly path: string;
  readonly lockTimeoutMs: number;
  readonly history: HistoryLimits;
}

export interface WireTxn {
  readonly ifAll: readonly Compare[];
  readonly ops: readonly Op[];
}

/** The effect of one operation: a new state of its key, or a deletion; `none` when the key to delete was absent. */
export type Effect = { readonly createRev: Rev; readonly version: number } | 'deleted' | 'none';

export type TxnOutcome =
  | { readonly ok: boolean; readonly rev: Rev; /** Empty when nothing changed. */ readonly effects: readonly Effect[] }
  | { readonly noLease: string };

export interface Calls {
  open: { request: OpenRequest; reply: { rev: Rev; compactRev: Rev } };
  get: { request: { key: string }; reply: StoreRecord | undefined };
  range: {
    request: { prefix: string; limit: number | undefined; after: string | undefined };
    reply: { rev: Rev; packed: PackedRecords };
  };
  write: { request: { txns: readonly WireTxn[] }; reply: { outcomes: TxnOutcome[]; compactRev: Rev } };
  history: { request: { prefix: string; fromRev: Rev }; reply: HistoryPage };
  compact: { request: { keepFrom: Rev }; reply: { compactRev: Rev } };
  grantLease: { request: { id: string; ttlSeconds: number }; reply: undefined };
  dropLease: { request: { id: string }; reply: { rev: Rev; deleted: string[] } };
  status: { request: undefined; reply: StatusReply };
  openSnapshot: { request: undefined; reply: { id: number; rev: Rev; storeUuid: string } };
  readSnapshot: { request: { id: number; after: string | undefined }; reply: { packed: PackedRecords } };
  closeSnapshot: { request: { id: number }; reply: undefined };
  close: { request: undefined; reply: undefined };
}

export type StatusReply = Pick<StoreStatus, 'rev' | 'compactRev' | 'records' | 'sizeBytes' | 'storeUuid'>;

export type CallKind = keyof Calls;

/** A call of any kind as it crosses to the worker. */
export interface CallMessage {
  readonly id: number;
  readonly kind: CallKind;
  readonly request: unknown;
}

export type ReplyMessage =
  | { readonly id: number; readonly reply: unknown }
  | { readonly id: number; readonly error: WireError };

export interface WireError {
  readonly code: StoreErrorCode;
  readonly message: string;
  readonly cause?: string;
  readonly compactRev?: Rev;
}
