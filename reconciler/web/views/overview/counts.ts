// How many objects of a set are synced, drifted and failed, on all its hosts or one. Pure.
import type { ObjectCounts, SetStatus } from '../../../controller/contract/index.ts';

export function countsOf(set: SetStatus, only?: string): Required<ObjectCounts> {
  const sum = { total: 0, synced: 0, drifted: 0, failed: 0, undeclared: 0 };
  for (const { host, objects } of set.hosts) {
    if (only !== undefined && host !== only) continue;
    sum.total += objects.total;
    sum.synced += objects.synced;
    sum.drifted += objects.drifted;
    sum.failed += objects.failed;
    sum.undeclared += objects.undeclared ?? 0;
  }
  return sum;
}
