// Compiles a transaction of the store into one of etcd: its compares, its writes, and how the store recognizes it later. Pure.
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
}

/** A transaction that changes something also puts the mark, with the write id: it shows whether the write was applied, and the newest
 *  revision. Undefined if it only deletes, and is too large for etcd to check whether any of the keys exists: then the caller must pass
 *  `existing`, a key it has just seen. Copies the values: the caller may reuse its buffers. */
export function planWrite(
  keyspace: Keyspace,
  revisions: Revisions,
  writeId: Buffer,
  ifAll: readonly Compare[],
  then: readonly Op[],
  existing?: string,
): WritePlan | undefined {
  const compares = comparesOf(keyspace, revisions, ifAll);
  const ops = then.map((op) => operationOf(keyspace, op, writeId));
  const mark: RequestOp = { requestPut: { key: keyspace.meta('mark'), value: writeId } };
  if (then.some((op) => 'put' in op)) return { writeId, compares, success: [...ops, mark] };
  // A full etcd accepts deletes, and a put beside them only in a nested transaction.
  const success = [...ops, { requestTxn: { compare: [], success: [mark], failure: [] } }];
  if (ifAll.some(({ key, modRev }) => modRev > 0 && then.some((op) => opKey(op) === key)))
    return { writeId, compares, success };
  if (existing !== undefined) {
    const exists: EtcdCompare = { result: 'GREATER', target: 'VERSION', key: keyspace.key(existing), version: 0 };
    return { writeId, compares: [...compares, exists], success };
  }
  // The fence needs a compare, too; etcd counts the operations of both levels together.
  if (compares.length + 1 + ops.length + 1 > etcdOpsPerTxn) return undefined;
  const allAbsent = then.map((op): EtcdCompare => {
    return { result: 'EQUAL', target: 'VERSION', key: keyspace.key(opKey(op)), version: 0 };
  });
  return { writeId, compares, success: [{ requestTxn: { compare: allAbsent, success: [], failure: [...ops, mark] } }] };
}

/** Changes nothing; if the compares hold, the answer has one range for each key of `then`. */
export function lookRequest(
  keyspace: Keyspace,
  revisions: Revisions,
  ifAll: readonly Compare[],
  then: readonly Op[],
): TxnRequest {
  const success = then.map((op): RequestOp => ({ requestRange: { key: keyspace.key(opKey(op)), keysOnly: true } }));
  return { compare: comparesOf(keyspace, revisions, ifAll), success, failure: [] };
}

const comparesOf = (keyspace: Keyspace, revisions: Revisions, ifAll: readonly Compare[]): EtcdCompare[] =>
  ifAll.map(({ key, modRev }) => {
    return { result: 'EQUAL', target: 'MOD', key: keyspace.key(key), modRevision: revisions.toEtcd(modRev) };
  });

function operationOf(keyspace: Keyspace, op: Op, writeId: Buffer): RequestOp {
  if ('del' in op) return { requestDeleteRange: { key: keyspace.key(op.del) } };
  const value = pack(op.put, op.value, writeId);
  const lease = op.lease === undefined ? {} : { lease: leaseId(op.lease) };
  return { requestPut: { key: keyspace.key(op.put), value, ...lease } };
}

/** Applied only while the fence is at `fenceRevision`; otherwise the answer contains the fence. */
export function requestOf(plan: WritePlan, fenceKey: Buffer, fenceRevision: number): TxnRequest {
  const fence: EtcdCompare = { result: 'EQUAL', target: 'MOD', key: fenceKey, modRevision: fenceRevision };
  return { compare: [fence, ...plan.compares], success: plan.success, failure: [{ requestRange: { key: fenceKey } }] };
}

function leaseId(id: string): string {
  if (!/^-?[0-9]{1,19}$/.test(id)) throw storeErrors.noLease(id);
  return id;
}
