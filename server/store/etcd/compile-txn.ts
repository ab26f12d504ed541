// A transaction of the store as one of etcd: its compares, its writes, and how the store recognizes it afterwards. Pure.
import { opKey } from '../keys.ts';
import { storeErrors } from '../store-errors.ts';
import type { Compare, Op } from '../store.ts';
import { pack } from './envelope.ts';
import type { Keyspace, Revisions } from './keyspace.ts';
import type { EtcdCompare, RequestOp, TxnRequest } from './messages.ts';

/** The default of etcd's --max-txn-ops, for compares and operations each. */
export const etcdOpsPerTxn = 128;

export interface WritePlan {
  readonly writeId: Buffer;
  readonly compares: readonly EtcdCompare[];
  readonly success: readonly RequestOp[];
  /** The history shows whether it was applied: one of its values carries the write id. */
  readonly isTraced: boolean;
}

/** Copies the values: the caller may reuse its buffers. */
export function planWrite(
  keyspace: Keyspace,
  revisions: Revisions,
  writeId: Buffer,
  ifAll: readonly Compare[],
  then: readonly Op[],
): WritePlan {
  const compares = ifAll.map(({ key, modRev }): EtcdCompare => {
    return { result: 'EQUAL', target: 'MOD', key: keyspace.key(key), modRevision: revisions.toEtcd(modRev) };
  });
  const ops = then.map((op): RequestOp => {
    if ('del' in op) return { requestDeleteRange: { key: keyspace.key(op.del) } };
    const value = pack(op.put, op.value, writeId);
    return {
      requestPut: { key: keyspace.key(op.put), value, ...(op.lease === undefined ? {} : { lease: leaseId(op.lease) }) },
    };
  });
  const hasPut = then.some((op) => 'put' in op);
  const fits = compares.length + 1 + ops.length + 1 <= etcdOpsPerTxn;
  const marked = hasPut || !fits ? ops : [markedDeletes(keyspace, writeId, then, ops)];
  return { writeId, compares, success: marked, isTraced: hasPut || fits };
}

/** Deletes leave no value behind, so one that changes something also puts the write id; deletes of absent keys change nothing. */
function markedDeletes(
  keyspace: Keyspace,
  writeId: Buffer,
  then: readonly Op[],
  deletes: readonly RequestOp[],
): RequestOp {
  const compare = then.map((op): EtcdCompare => {
    return { result: 'EQUAL', target: 'VERSION', key: keyspace.key(opKey(op)), version: 0 };
  });
  const mark: RequestOp = { requestPut: { key: keyspace.meta('mark'), value: writeId } };
  return { requestTxn: { compare, success: [], failure: [...deletes, mark] } };
}

/** Applied only while the fence is at `fenceRevision`; otherwise the answer shows the fence. */
export function requestOf(plan: WritePlan, fenceKey: Buffer, fenceRevision: number): TxnRequest {
  const fence: EtcdCompare = { result: 'EQUAL', target: 'MOD', key: fenceKey, modRevision: fenceRevision };
  return {
    compare: [fence, ...plan.compares],
    success: plan.success,
    failure: [{ requestRange: { key: fenceKey } }],
  };
}

function leaseId(id: string): string {
  if (!/^-?[0-9]{1,19}$/.test(id)) throw storeErrors.noLease(id);
  return id;
}
