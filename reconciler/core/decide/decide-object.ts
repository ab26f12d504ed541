// Decides about one object: leave, create, update or replace it, its power action, and the guard that refuses it.
import { ownershipAfter, ownershipBefore, recordsOf, withRecordedSecrets } from '../diff/decide-ownership.ts';
import { diffObject, type Diff } from '../diff/diff.ts';
import { withoutDisruption, type ChangedObject } from './defer-disruption.ts';
import { allows, unchangedByPolicy } from '../diff/policy.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import type { Live } from '../documents/observed.ts';
import { coreKind } from '../kinds/index.ts';
import { asideAsItWas, asideFor, nextImage } from '../live/image-updates.ts';
import { guardWhole, isUnreadObject, offlineGuard, unreadGuard } from '../live/away-members.ts';
import { placementOf } from '../live/placement.ts';
import { parseIgnore } from '../ownership/ignored-paths.ts';
import { createBody } from '../plan/creation-bodies.ts';
import { unchangedObject } from '../plan/unchanged-object.ts';
import { decideCreate } from './decide-create.ts';
import { fieldsOf, snapshotConflicts } from './decide-inside.ts';
import { effectOfOwnChanges } from './decide-power.ts';
import { decideRebuild, decideReplace } from './decide-replace.ts';
import { decideUpdate } from './decide-update.ts';
import { isProtected, type Decision } from './decision.ts';
import type { PlanContext } from './plan-context.ts';

export function decideObject(declared: Document, context: PlanContext): Decision {
  const kind = coreKind(declared.kind);
  const aside = declared.kind === 'container' ? asideFor(declared, context.observed) : undefined;
  const live =
    aside === undefined ? kind.live(context.observed, kind.apiName(declared)) : asideAsItWas(aside, declared);
  if (live === undefined) {
    if (declared.kind === 'profile') context.addNewProfile(declared.name, createBody(declared));
    return decideCreate(declared, context);
  }
  if (isUnreadObject(declared.kind, live.object)) return decideUnread(declared, live);
  const ignore = parseIgnore(declared.manage.ignore);
  const records = recordsOf(declared, live.object, context.observed);
  const before = ownershipBefore(declared, records, context.owner);
  const document = withRecordedSecrets(declared, records);
  const { values, secrets } = document;
  const placement = placementOf(document, live.object as JsonObject, context.observed);
  const { compareSeeds } = context;
  const fields = diffObject(kind, values, live.object, { ignore, ownership: before, secrets, compareSeeds });
  const found = placement.move === undefined ? fields : { ...fields, changes: [...fields.changes, placement.move] };
  const conflicts = snapshotConflicts(document, live.object as JsonObject, before?.others);
  const diff = conflicts.length === 0 ? found : { ...found, conflicts: [...found.conflicts, ...conflicts] };
  if (!allows(document.manage, 'update')) return { change: unchangedByPolicy(document, live, diff), sketches: [] };
  const whole =
    placement.offline === undefined
      ? decideExisting({ document, live, isAside: aside !== undefined, diff, before, placement, context })
      : decideOffline(document, live, diff, placement.offline);
  const decision = whileAway(document, whole, context);
  return diff.ignored.length === 0 ? decision : { ...decision, change: { ...decision.change, ignored: diff.ignored } };
}

function decideExisting(found: ChangedObject): Decision {
  const whole = decideWhole(found);
  return found.context.options.defersDisruption === true ? withoutDisruption(found, whole) : whole;
}

function decideWhole({ document, live, isAside, diff, before, placement, context }: ChangedObject): Decision {
  const ignore = parseIgnore(document.manage.ignore);
  const isTaking = context.options.forceConflicts === true;
  const ownership = ownershipAfter(document, before, diff, { ignore, owner: context.owner, isForced: isTaking });
  if (document.kind === 'profile' && diff.changes.length > 0 && ownership.guard === undefined)
    context.addProfileEdits(document.name, diff.changes);
  const isForced = context.isForced(document.address);
  const next = nextImage(document, live.object as JsonObject, (alias) => context.aliasTarget(alias, document.project));
  const existing = { document, live, diff, ownership, context };
  // The server deletes an ephemeral container when it stops.
  const canStandAside = (live.object as JsonObject)['ephemeral'] !== true;
  if (isAside || (next !== undefined && document.manage.image === 'rebuild' && canStandAside)) {
    return decideRebuild({ ...existing, next });
  }
  if (next !== undefined) return decideReplace({ ...existing, next }, false);
  return isForced || needsRecreation(diff, document, live, context)
    ? decideReplace({ ...existing, next }, isForced)
    : decideUpdate({ document, live, diff, ownership, placement }, context);
}

/** Delays a change of an object that every member has until all members are online. */
function whileAway(document: Document, { change, sketches }: Decision, { observed }: PlanContext): Decision {
  const guard = sketches.length === 0 ? undefined : guardWhole(document, 'changed', observed);
  return guard === undefined ? { change, sketches } : { change: { guard, ...change }, sketches: [] };
}

/** Nothing is known about the object, so that it is neither as declared nor different. */
const decideUnread = (document: Document, live: Live<object>): Decision => ({
  change: {
    ...unchangedObject(document),
    live: live.object,
    isProtected: document.manage.protect,
    guard: unreadGuard(document, live.object),
  },
  sketches: [],
});

/** Delays all changes on an offline member until it is back. */
function decideOffline(document: Document, live: Live<object>, diff: Diff, member: string): Decision {
  // The inside of the container was not read.
  const changes = fieldsOf(diff.changes);
  const isAsDeclared = changes.length === 0;
  return {
    change: {
      ...unchangedObject(document),
      action: isAsDeclared ? 'no-op' : 'update',
      changes,
      reasons: [`its member ${member} is offline: it is left as it is`],
      unmanaged: diff.unmanaged,
      live: live.object,
      isProtected: isProtected(document, live),
      ...(isAsDeclared ? {} : { guard: offlineGuard(document, member) }),
    },
    sketches: [],
  };
}

/** The profile refuses edits that would force recreation, so only the container's own changes count here. */
function needsRecreation(diff: Diff, document: Document, live: Live<object>, context: PlanContext): boolean {
  if (diff.changes.length === 0) return false;
  if (document.kind !== 'container') return diff.changes.some((change) => change.effect === 'recreate');
  if (diff.changes.some((change) => change.path === 'architecture')) return true;
  return effectOfOwnChanges(live.object as JsonObject, diff.changes, context) === 'recreate';
}
