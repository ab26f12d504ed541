// Decides about an object that stays: the fields to write, the steps inside a container, and its power action.
import type { Effect } from '../../../server/api/schema/field.ts';
import { statusCodes } from '../../../server/api/status.ts';
import { usageAddress, type OwnershipDecision } from '../diff/decide-ownership.ts';
import type { Diff } from '../diff/diff.ts';
import type { Change } from '../documents/change.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import type { Live } from '../documents/observed.ts';
import { coreKind } from '../kinds/index.ts';
import { expandContainer } from '../live/expand-profiles.ts';
import type { Placement } from '../live/placement.ts';
import { recordsIn } from '../ownership/owner-records.ts';
import { applyEdits } from '../plan/apply-edits.ts';
import type { AffectedObject, Guard } from '../plan/plan.ts';
import { start, stop, waits, type Sketch } from '../plan/step-drafts.ts';
import { isRootDisk, worstEffect } from '../settings/setting-effects.ts';
import { decideInside, fieldsOf, withCommands, type Inside } from './decide-inside.ts';
import { decidePower, type PowerDecision } from './decide-power.ts';
import { isProtected, type Decision } from './decision.ts';
import { unchangedObject } from '../plan/unchanged-object.ts';
import type { PlanContext } from './plan-context.ts';
import { namesText } from '../../../server/api/text/names-text.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** An object that stays, and what is decided about it so far. */
export interface StayingObject {
  readonly document: Document;
  readonly live: Live<object>;
  readonly diff: Diff;
  readonly ownership: OwnershipDecision;
  readonly placement: Placement;
}

export function decideUpdate(object: StayingObject, context: PlanContext): Decision {
  const { document, live, diff, ownership, placement } = object;
  const fields = fieldsOf(diff.changes);
  const power = decidePower(document, live.object as JsonObject, fields, context, placement);
  const { halt, resume } = aroundMove(document, power, placement);
  const isDown = !power.isRunning || halt.length > 0;
  const inside = insideOfExisting(document, live, diff, power, { context, isDown });
  const affects = affectedOf(document, diff, context);
  const guard =
    ownership.guard ??
    placement.guard ??
    power.guard ??
    guardStuck(document, live, diff) ??
    guardReach(document, affects) ??
    guardRoot(document, live, fields, context);
  const edits = inside.changes.length === 0 ? diff.changes : [...diff.changes, ...inside.changes];
  const sketches: readonly Sketch[] = [
    ...halt,
    ...inside.removal,
    ...writeFields(object, fields, inside),
    ...inside.writing,
    ...withCommands(resume, inside.commands),
    ...inside.snapshots,
  ];
  return {
    change: {
      ...unchangedObject(document),
      action: edits.length === 0 ? 'no-op' : 'update',
      ...withoutUndefined({ power: power.action }),
      changes: power.isRunning ? edits : calmed(edits, document),
      effect: document.kind === 'container' ? power.effect : worstEffect(affects.map((item) => item.effect)),
      reasons: inside.reasons.length === 0 ? power.reasons : [...power.reasons, ...inside.reasons],
      unmanaged: diff.unmanaged,
      claims: claimsOf(ownership, edits),
      releases: ownership.releases,
      ...(ownership.isTakeover === true && sketches.length === 1 && edits.length === 0 ? { isTakeover: true } : {}),
      affects,
      live: live.object,
      isProtected: isProtected(document, live),
      ...withoutUndefined({ guard }),
    },
    sketches: guard === undefined ? sketches : [],
  };
}

/** The fields and the owner's record, in one request. */
function writeFields(
  { document, live, diff, ownership: { owner, isNew } }: StayingObject,
  fields: readonly Change[],
  { ran }: Inside,
): readonly Sketch[] {
  // The record hashes the written values. Commands that depend on them must run again even if this run fails.
  const isNoted = owner !== undefined && fields.length < diff.changes.length;
  if (fields.length === 0 && !isNew && !isNoted) return [];
  const record = owner === undefined ? {} : { owner: document.kind === 'container' ? { ...owner, ran } : owner };
  return [{ action: 'update', edits: fields, ...record, ...withoutUndefined({ etag: live.etag }) }];
}

/** A running container stops before it moves; other restarts come after their changes. */
function aroundMove(
  document: Document,
  { isRunning, action, sketches }: PowerDecision,
  { move }: Placement,
): { readonly halt: readonly Sketch[]; readonly resume: readonly Sketch[] } {
  if (move === undefined || !isRunning) return { halt: [], resume: sketches };
  return { halt: [stop], resume: action === 'stop' ? [] : [start, ...waits(document)] };
}

function insideOfExisting(
  document: Document,
  live: Live<object>,
  diff: Diff,
  power: PowerDecision,
  { context, isDown }: { readonly context: PlanContext; readonly isDown: boolean },
): Inside {
  const { owner } = context;
  const ran = owner === undefined ? undefined : recordsIn(live.object).get(owner.set)?.ran;
  // A command in a frozen container never ends.
  const isStill = (live.object as JsonObject)['status_code'] === statusCodes.frozen && power.action === undefined;
  return decideInside(document, {
    live: live.object as JsonObject,
    ...withoutUndefined({ ran }),
    owner,
    changes: diff.changes,
    starts: (power.action === 'start' && !power.isRunning) || power.action === 'restart',
    willRun: power.action === 'start' || (power.isRunning && power.action !== 'stop' && !isStill),
    ...(isDown ? { unmounted: () => context.devicesAfter(document, live.object as JsonObject) } : {}),
  });
}

/** If only the policy of a record changes, the claim covers the whole object. */
const claimsOf = ({ isNew, claims, releases }: OwnershipDecision, edits: readonly Change[]): readonly string[] =>
  isNew && claims.length + releases.length + edits.length === 0
    ? ['']
    : claims.filter((path) => !edits.some((edit) => path.startsWith(`${edit.path}.`)));

/** A stopped container needs no restart, so all of its changes are live. */
const calmed = (changes: readonly Change[], document: Document): readonly Change[] =>
  document.kind === 'container' && changes.some((change) => change.effect === 'restart')
    ? changes.map((change) => (change.effect === 'restart' ? { ...change, effect: 'live' as const } : change))
    : changes;

function affectedOf(document: Document, diff: Diff, context: PlanContext): readonly AffectedObject[] {
  if (diff.changes.length === 0 || document.kind === 'container') return [];
  const isProfile = document.kind === 'profile';
  return context.affectedBy(usageAddress(document), (container): Effect | undefined =>
    isProfile ? context.effectOfProfile(container, document.name) : 'live',
  );
}

function guardStuck({ kind, name, address }: Document, live: Live<object>, { changes }: Diff): Guard | undefined {
  const stuck = coreKind(kind).stuck?.(name, live.object as JsonObject, changes);
  return stuck === undefined ? undefined : { code: 'in-use', address, ...stuck };
}

/** The server would refuse to take away the last root disk. */
function guardRoot(
  { kind, address }: Document,
  live: Live<object>,
  edits: readonly Change[],
  context: PlanContext,
): Guard | undefined {
  if (kind !== 'container') return undefined;
  const before = live.object as JsonObject;
  const isEdited = edits.some(({ segments: [field = ''] }) => ['devices', 'profiles'].includes(field));
  if (!isEdited && context.changedProfilesOf(before).length === 0) return undefined;
  const after = applyEdits(before, edits);
  const [has, keeps] = [expandContainer(before, context.profileNow), expandContainer(after, context.profileAfter)].map(
    ({ devices }) => Object.values(devices).some(isRootDisk),
  );
  if (has !== true || keeps === true) return undefined;
  return {
    code: 'in-use',
    address,
    message: `${address} would lose its root disk: neither its devices nor its profiles would have a disk with path /`,
    remedy: 'declare the disk again, or give it to one of its profiles',
  };
}

function guardReach(document: Document, affects: readonly AffectedObject[]): Guard | undefined {
  const stuck = affects.filter((item) => item.effect === 'recreate').map((item) => item.address);
  if (stuck.length === 0) return undefined;
  return {
    code: 'in-use',
    address: document.address,
    message: `${document.address} cannot be changed like this while ${namesText(stuck)} relies on it: a root disk cannot move to another pool in place`,
    remedy: 'put the new root disk into another profile and move the containers one by one',
  };
}
