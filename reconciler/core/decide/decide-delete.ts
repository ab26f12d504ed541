// Decides how a destroy or prune treats an object: delete it, remove the set's part from it, release it, or leave it because it is
// protected, in use, or not owned by the set.
import type { Container } from '../../../server/api/container/container.ts';
import type { Change } from '../documents/change.ts';
import { unchangedObject } from '../plan/unchanged-object.ts';
import { isProtected } from './decision.ts';
import { elsewhereGuard, foreignGuard, inUseGuard, protectedGuard } from '../plan/guards.ts';
import { fieldsOf, removalOf } from './decide-inside.ts';
import { recordsOf, usageAddress, withRecordedSecrets } from '../diff/decide-ownership.ts';
import { diffObject } from '../diff/diff.ts';
import type { Address, Document, Json, JsonObject } from '../documents/document.ts';
import { coreKind } from '../kinds/index.ts';
import { pathText } from '../documents/inside.ts';
import { isMap, presentTexts } from '../documents/json-values.ts';
import type { Live, Observed } from '../documents/observed.ts';
import { compareText } from '../text/listing-order.ts';
import { pathsOf, type OwnerRecord, type OwnerRelease } from '../ownership/owner-records.ts';
import { otherPlace } from '../ownership/place.ts';
import type { Guard, ResourceChange, SetOwner } from '../plan/plan.ts';
import { isSecret } from '../documents/secret.ts';
import { isRootDisk } from '../settings/setting-effects.ts';
import { deleting, kill, type Sketch } from '../plan/step-drafts.ts';
import { guardDelete as guardAway, isUnreadObject, unreadGuard } from '../live/away-members.ts';
import { isRunning } from '../live/usage.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface Deletion {
  readonly change: Omit<ResourceChange, 'steps'>;
  readonly sketches: readonly Sketch[];
  /** The set does not own it: refuses a destroy that has nothing else to do. */
  readonly foreign?: Guard;
}

export interface DeleteWorld {
  readonly observed: Observed;
  readonly owner: SetOwner | undefined;
  /** Objects that still use it after the rest of the plan. */
  readonly leftUsers: (used: Address) => readonly string[];
}

export function decideDelete(declared: Document, world: DeleteWorld): Deletion {
  const kind = coreKind(declared.kind);
  const live = kind.live(world.observed, kind.apiName(declared));
  if (live !== undefined && isUnreadObject(declared.kind, live.object)) return decideUnread(declared, live);
  const object =
    live === undefined ? declared : withRecordedSecrets(declared, recordsOf(declared, live.object, world.observed));
  const decided =
    live === undefined ? unchanged(object, undefined, ['it does not exist']) : decideLive(object, live, world);
  if (live !== undefined && decided.sketches.length === 0) return decided;
  // Members that are away get the change of an image when they are back.
  if (object.kind === 'image' && decided.change.action !== 'delete') return decided;
  const guard = guardAway(object, live?.object as JsonObject | undefined, world.observed);
  if (guard === undefined) return decided;
  // Keeps the set's record on the object, so that the next run continues.
  const change = { ...decided.change, action: 'delete' as const, changes: [], releases: [], reasons: [], guard };
  return { change, sketches: [] };
}

/** Whose it is cannot be read, so that it counts neither as foreign nor as gone. */
function decideUnread(object: Document, live: Live<object>): Deletion {
  const guard = unreadGuard(object, live.object);
  return { change: { ...unchanged(object, live, []).change, action: 'delete', guard }, sketches: [] };
}

function decideLive(object: Document, live: Live<object>, world: DeleteWorld): Deletion {
  const kind = coreKind(object.kind);
  const left = world.leftUsers(usageAddress(object));
  const isPermanent = kind.isPermanent?.(object.name) === true;
  if (world.owner === undefined) return isPermanent ? decideReset(object, live, left) : deleteWhole(object, live, left);
  const records = recordsOf(object, live.object, world.observed);
  const record = records.get(world.owner.set);
  if (record === undefined) {
    const decided = unchanged(object, live, [`it does not belong to the set ${world.owner.set}`]);
    const isKept = isPermanent || object.manage.onDelete === 'orphan';
    return isKept ? decided : { ...decided, foreign: foreignGuard(object.address, world.owner.set, records) };
  }
  const elsewhere = otherPlace(record.place, world.owner.place);
  if (elsewhere !== undefined) {
    const guard = elsewhereGuard(object.address, 'delete', world.owner.set, elsewhere);
    return { change: { ...describe(object, live), action: 'delete', reasons: [], guard }, sketches: [] };
  }
  const others = new Map(records);
  others.delete(world.owner.set);
  const isOrphaned = object.manage.onDelete === 'orphan';
  if (isOrphaned)
    return letGo(object, live, world.owner, record, ['on_delete: orphan: the object stays on the server, unowned']);
  if (!isPermanent && record.whole && others.size === 0) return deleteWhole(object, live, left);
  return takeOut(object, live, { owner: world.owner, record, others, left, isPermanent });
}

function deleteWhole(object: Document, live: Live<object>, left: readonly string[]): Deletion {
  const guard = guardDelete(object, live, left);
  const runs = object.kind === 'container' && isRunning(live.object as Container);
  return {
    change: { ...describe(object, live), action: 'delete', reasons: [], ...withoutUndefined({ guard }) },
    sketches: guard === undefined ? [...(runs ? [kill] : []), deleting(live.etag)] : [],
  };
}

function guardDelete(object: Document, live: Live<object>, left: readonly string[]): Guard | undefined {
  if (isProtected(object, live)) return protectedGuard(object.address, 'delete');
  return left.length > 0 ? inUseGuard(object.address, 'delete', left) : undefined;
}

interface SharedOwnership {
  readonly owner: SetOwner;
  readonly record: OwnerRecord;
  readonly others: ReadonlyMap<string, OwnerRecord>;
  readonly left: readonly string[];
  readonly isPermanent: boolean;
}

/** Keeps the object and removes only values that no other set relies on. */
function takeOut(
  object: Document,
  live: Live<object>,
  { owner, record, others, left, isPermanent }: SharedOwnership,
): Deletion {
  if (isProtected(object, live)) return unchanged(object, live, ['it is protected']);
  const ownership = { last: record, others, hash: owner.hash, isExact: false };
  const removed = diffObject(coreKind(object.kind), {}, live.object, {
    ignore: [],
    ownership,
    secrets: object.secrets,
  }).changes;
  // No server takes the root disk away from a container.
  const edits = object.kind === 'container' ? removed.filter(({ before }) => !isRoot(before)) : removed;
  const why = whyTakeOut(owner, others, isPermanent);
  if (left.length > 0 && edits.some(({ segments }) => segments[0] === 'devices')) {
    return unchanged(object, live, [`${why}, and others rely on what is in it: ${left.join(', ')}`]);
  }
  if (edits.length === 0) return letGo(object, live, owner, record, [`${why}, and nothing of the set's is left in it`]);
  return edited(object, live, edits, [`${why}: what the set put into it is taken out`], {
    set: owner.set,
    release: true,
  });
}

const isRoot = (device: Json | undefined): boolean => isMap(device) && isRootDisk(presentTexts(device));

function whyTakeOut(owner: SetOwner, others: ReadonlyMap<string, unknown>, isPermanent: boolean): string {
  if (isPermanent) return 'it cannot be deleted';
  if (others.size > 0) return `it also belongs to ${[...others.keys()].sort().join(', ')}`;
  return `it was there before the set ${owner.set}`;
}

function letGo(
  object: Document,
  live: Live<object>,
  owner: SetOwner,
  record: OwnerRecord,
  reasons: readonly string[],
): Deletion {
  const release: OwnerRelease = { set: owner.set, release: true };
  return {
    change: { ...describe(object, live), action: 'no-op', releases: pathsOf(record.keys).map(pathText), reasons },
    sketches: [{ action: 'update', edits: [], owner: release, ...withoutUndefined({ etag: live.etag }) }],
  };
}

/** The default profile cannot be deleted: removes the document's values from it unless others rely on them. */
function decideReset(object: Document, live: Live<object>, left: readonly string[]): Deletion {
  if (isProtected(object, live)) return unchanged(object, live, ['it is protected']);
  if (left.length > 0) {
    return unchanged(object, live, [`it cannot be deleted, and others rely on what is in it: ${left.join(', ')}`]);
  }
  const edits = takenBack(object, live.object as JsonObject);
  if (edits.length === 0) return unchanged(object, live, ['it cannot be deleted, and nothing declared is left in it']);
  return edited(object, live, edits, ['it cannot be deleted: what is declared is taken out of it'], undefined);
}

function edited(
  object: Document,
  live: Live<object>,
  edits: readonly Change[],
  reasons: readonly string[],
  owner: OwnerRelease | undefined,
): Deletion {
  const etag = live.etag === undefined ? {} : { etag: live.etag };
  return {
    change: { ...describe(object, live), action: 'update', changes: edits, reasons },
    sketches: [
      ...removalOf(edits),
      { action: 'update', edits: fieldsOf(edits), ...withoutUndefined({ owner }), ...etag },
    ],
  };
}

function takenBack(object: Document, live: JsonObject): readonly Change[] {
  const edits: Change[] = [];
  for (const field of ['config', 'devices']) {
    const [wanted, now] = [object.values[field], live[field]];
    if (!isMap(wanted) || !isMap(now)) continue;
    for (const [key, value] of Object.entries(wanted)) {
      const before: Json | undefined = now[key];
      if (value === null || before === undefined || before === '') continue;
      const segments = [field, key];
      const secret = isSecret(segments, before, object.secrets);
      edits.push({ path: segments.join('.'), segments, before, after: undefined, effect: 'live', secret });
    }
  }
  return edits.sort((a, b) => compareText(a.path, b.path));
}

const describe = (object: Document, live: Live<object> | undefined): Omit<ResourceChange, 'steps'> => ({
  ...unchangedObject(object),
  ...(live === undefined ? {} : { live: live.object }),
  isProtected: isProtected(object, live),
});

export const unchanged = (object: Document, live: Live<object> | undefined, reasons: readonly string[]): Deletion => ({
  change: { ...describe(object, live), reasons },
  sketches: [],
});
