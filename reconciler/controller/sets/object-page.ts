// Pages of the objects of a set: by host in the order of the hosts file, then in the order of plans.
import type { ObjectPage, ObjectSummary } from '../contract/index.ts';
import type { ObjectQuery } from '../controller.ts';

interface WithObjects {
  readonly name: string;
  readonly objects: ReadonlyMap<string, ObjectSummary>;
}

const keyOf = ({ host, address }: ObjectSummary): string => `${host} ${address}`;

export function pageOf(hosts: readonly WithObjects[], { host, status, after, limit = 1000 }: ObjectQuery): ObjectPage {
  const found: ObjectSummary[] = [];
  let total = 0;
  let isPast = after === undefined;
  let hasMore = false;
  for (const one of hosts) {
    if (host !== undefined && one.name !== host) continue;
    for (const object of one.objects.values()) {
      if (status !== undefined && object.status !== status) {
        if (keyOf(object) === after) isPast = true;
        continue;
      }
      total += 1;
      if (isPast && found.length < limit) found.push(object);
      else if (isPast) hasMore = true;
      if (keyOf(object) === after) isPast = true;
    }
  }
  const last = found.at(-1);
  return { objects: found, total, ...(hasMore && last !== undefined ? { next: keyOf(last) } : {}) };
}
