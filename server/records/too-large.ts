// Refuses transactions that exceed the store's limits, in terms of objects: how many records one change writes, and their size. Pure.
import { storeLimits } from '../store/store.ts';
import type { Changes } from './changes.ts';
import type { Kind } from './documents.ts';

/** Nothing was written. The caller can ask for less. */
export class ChangeTooLarge extends Error {
  override readonly name = 'ChangeTooLarge';
}

export function refuseTooLarge(changes: Changes): void {
  const records = Math.max(changes.compares.length, changes.ops.length);
  const max = Math.min(storeLimits.comparesPerTxn, storeLimits.opsPerTxn);
  if (records > max)
    throw new ChangeTooLarge(
      `This change holds ${records} records together (${kindsIn(changes)}), and one change can hold ${max}: name fewer of them in it`,
    );
  const sizes = changes.ops.map((op) => ('put' in op ? op.value.byteLength + op.put.length : op.del.length));
  const largest = Math.max(0, ...sizes);
  if (largest > storeLimits.valueBytes)
    throw new ChangeTooLarge(
      `An object of this change would have ${largest} bytes, and an object can have ${storeLimits.valueBytes}: shorten its config`,
    );
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes > storeLimits.txnBytes)
    throw new ChangeTooLarge(
      `This change would write ${bytes} bytes, and one change can write ${storeLimits.txnBytes}: shorten the config of its objects`,
    );
}

/** `401 profiles, 1 containers`: the most frequent first. */
function kindsIn({ touched }: Changes): string {
  const counts = new Map<Kind, number>();
  for (const { kind } of touched) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${kind}: ${count}`)
    .join(', ');
}
