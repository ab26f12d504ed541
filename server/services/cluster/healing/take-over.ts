// Transactions that move records from one member to another, with the names they reserve. Pure.
import { presentKey, fenceKey } from '../../../membership/signals.ts';
import { encodeDocument } from '../../../records/codec.ts';
import type { Documents, Kind } from '../../../records/documents.ts';
import { KeySpace, nameKey } from '../../../records/key-space.ts';
import type { Compare, Op, Rev } from '../../../store/store.ts';

/** A member's record, and the document that the other member gets. */
export type TakeOver = {
  [K in Kind]: { readonly kind: K; readonly name: string; readonly document: Documents[K]; readonly modRev: Rev };
}[Kind];

/** Keeps a transaction within the store's limits. */
const recordsPerTxn = 50;
const bytesPerTxn = 512 * 1024;

/** True while the member is gone. `fenceRev`: the revision of its fence; a later one shows that it was back in between. */
export const isGone = (member: number, fenceRev: Rev): readonly Compare[] => [
  { key: presentKey(member), modRev: 0 },
  { key: fenceKey(member), modRev: fenceRev },
];

/** Each transaction compares `conditions`. */
export function takeOver(
  taken: readonly TakeOver[],
  { from, to }: { readonly from: number; readonly to: number },
  conditions: readonly Compare[],
): readonly { readonly compares: readonly Compare[]; readonly ops: readonly Op[] }[] {
  const [before, after] = [new KeySpace(from), new KeySpace(to)];
  const txns: { compares: Compare[]; ops: Op[]; bytes: number; records: number }[] = [];
  for (const { kind, name, document, modRev } of taken) {
    const value = encodeDocument(document);
    let txn = txns.at(-1);
    if (txn === undefined || txn.records >= recordsPerTxn || txn.bytes + value.length > bytesPerTxn)
      txns.push((txn = { compares: [...conditions], ops: [], bytes: 0, records: 0 }));
    const [oldKey, newKey] = [before.keyOf(kind, name), after.keyOf(kind, name)];
    txn.compares.push({ key: oldKey, modRev }, { key: newKey, modRev: 0 });
    txn.ops.push({ del: oldKey }, { put: newKey, value });
    if (kind === 'containers' || kind === 'volumes')
      txn.ops.push({ put: nameKey(kind, name), value: Buffer.from(String(to)) });
    txn.bytes += value.length;
    txn.records += 1;
  }
  return txns;
}
