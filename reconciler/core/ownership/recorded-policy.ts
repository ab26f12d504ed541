// The part of `manage:` that a record holds, since it applies when the document is gone: as JSON and back, and compared. Pure.
import type { Address, JsonObject, Manage } from '../documents/document.ts';
import { textsOf } from '../documents/json-values.ts';
import type { RecordedPolicy } from '../documents/ownership-records.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export const policyOf = ({ protect, onDelete, prune, dependsOn, wave }: Manage): RecordedPolicy => ({
  protect,
  onDelete,
  prune,
  dependsOn,
  wave,
});

/** `{"p":1,"d":"orphan","r":"confirm","a":["profile/web"],"n":2}`, in its shortest form. */
export const policyJson = ({ protect, onDelete, prune, dependsOn, wave }: RecordedPolicy): JsonObject => ({
  ...(protect ? { p: 1 } : {}),
  ...(onDelete === 'orphan' ? { d: 'orphan' } : {}),
  ...withoutUndefined({ r: prune }),
  ...(dependsOn.length === 0 ? {} : { a: dependsOn }),
  ...withoutUndefined({ n: wave }),
});

export const readPolicy = ({ p, d, r, a, n }: JsonObject): RecordedPolicy => ({
  protect: p === 1,
  onDelete: d === 'orphan' ? 'orphan' : 'delete',
  prune: typeof r === 'boolean' || r === 'confirm' ? r : undefined,
  dependsOn: textsOf(a) as readonly Address[],
  wave: typeof n === 'number' ? n : undefined,
});

/** The order of deletions does not count: an apply records it, and changes nothing by that. */
export const isSamePolicy = (one: RecordedPolicy, other: RecordedPolicy): boolean =>
  one.protect === other.protect && one.onDelete === other.onDelete && one.prune === other.prune;

export const isSameOrder = (one: RecordedPolicy, other: RecordedPolicy): boolean =>
  one.wave === other.wave && one.dependsOn.join() === other.dependsOn.join();
