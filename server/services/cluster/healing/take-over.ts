// The transactions that give records of a lost member to another one: each holds only while the lost member is still gone. Pure.
import { presentKey, fenceKey } from '../../../cluster/signals.ts';
import { encodeDocument } from '../../../records/codec.ts';
import type { Documents, Kind } from '../../../records/documents.ts';
import { KeySpace } from '../../../records/key-space.ts';
import type { Compare, Op, Rev } from '../../../store/store.ts';

/** A record as the lost member left it, and the document that the other member gets. */
export type Taken = {
  [K in Kind]: { readonly kind: K; readonly name: string; readonly document: Documents[K]; readonly modRev: Rev };
}[Kind];

export interface Transaction {
  readonly compares: readonly Compare[];
  readonly ops: readonly Op[];
}

/** So that a transaction stays within the limits of the store. */
const recordsPerTxn = 35;
const bytesPerTxn = 512 * 1024;

/** `fenceRev`: of the word of the lost member that it ends what runs there; a later one says that it was back meanwhile. */
export function takeOver(
  taken: readonly Taken[],
  { from, to, fenceRev }: { readonly from: number; readonly to: number; readonly fenceRev: Rev },
): readonly Transaction[] {
  const [before, after] = [new KeySpace(from), new KeySpace(to)];
  const isGone: readonly Compare[] = [
    { key: presentKey(from), modRev: 0 },
    { key: fenceKey(from), modRev: fenceRev },
  ];
  const txns: { compares: Compare[]; ops: Op[]; bytes: number; records: number }[] = [];
  for (const { kind, name, document, modRev } of taken) {
    const value = encodeDocument(document);
    let txn = txns.at(-1);
    if (txn === undefined || txn.records >= recordsPerTxn || txn.bytes + value.length > bytesPerTxn)
      txns.push((txn = { compares: [...isGone], ops: [], bytes: 0, records: 0 }));
    const [oldKey, newKey] = [before.keyOf(kind, name), after.keyOf(kind, name)];
    txn.compares.push({ key: oldKey, modRev }, { key: newKey, modRev: 0 });
    txn.ops.push({ del: oldKey }, { put: newKey, value });
    const nameKey = after.nameKeyOf(kind, name);
    if (nameKey !== undefined) txn.ops.push({ put: nameKey, value: Buffer.from(String(to)) });
    txn.bytes += value.length;
    txn.records += 1;
  }
  return txns;
}
