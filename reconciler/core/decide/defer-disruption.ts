// Makes only the changes of an object that restart, rebuild or recreate no container. The rest is refused for now; its keys stay
// recorded unchanged, so that a later plan finds the same differences.
import { ownershipAfter, usageAddress } from '../diff/decide-ownership.ts';
import type { Diff } from '../diff/diff.ts';
import type { Ownership } from '../diff/walk.ts';
import type { Change } from '../documents/change.ts';
import type { Document } from '../documents/document.ts';
import type { Live } from '../documents/observed.ts';
import type { Placement } from '../live/placement.ts';
import { parseIgnore } from '../ownership/ignored-paths.ts';
import type { AffectedObject, Guard } from '../plan/plan.ts';
import { decideUpdate } from './decide-update.ts';
import type { Decision } from './decision.ts';
import type { PlanContext } from './plan-context.ts';
import { namesText } from '../../../server/api/text/names-text.ts';

/** An object that exists, with its differences. */
export interface ChangedObject {
  readonly document: Document;
  readonly live: Live<object>;
  /** A rebuild that an earlier run began continues. */
  readonly isAside: boolean;
  readonly diff: Diff;
  readonly before: Ownership | undefined;
  readonly placement: Placement;
  readonly context: PlanContext;
}

/** `whole`: the decision about all differences. */
export function withoutDisruption(found: ChangedObject, whole: Decision): Decision {
  const guard = whole.change.guard ?? disturbance(found, whole);
  if (guard?.code !== 'disruption') return whole;
  const { document, diff, placement, context } = found;
  const later = diff.changes.filter(
    (change) => change.effect !== 'live' || change === placement.move || restartsByProfile(found, change),
  );
  const now = diff.changes.filter((change) => !later.includes(change));
  if (document.kind === 'profile') context.addProfileEdits(document.name, now);
  const part = [document, powerless(document)]
    .map((one) => decidePart({ ...found, document: one }, now, later))
    .find(({ change }) => change.guard === undefined && restarted(change.affects, context).length === 0);
  if (part === undefined || part.sketches.length === 0) return { change: { ...whole.change, guard }, sketches: [] };
  return { change: { ...part.change, guard, isSplit: true }, sketches: part.sketches };
}

/** Disruption without another guard: `manage.image` asks for it, or another object causes it. */
function disturbance({ document, isAside, context }: ChangedObject, { change }: Decision): Guard | undefined {
  const { address, action, affects } = change;
  if (action === 'replace' && !isAside && !context.isForced(address))
    return deferred(document, `${address} would be replaced: ${change.reasons.join(', ')}`);
  const others = restarted(affects, context);
  return others.length === 0 ? undefined : deferred(document, `${address} would restart ${namesText(others)}`);
}

/** Containers that the change would restart. */
const restarted = (affects: readonly AffectedObject[], context: PlanContext): readonly string[] =>
  affects.filter((one) => one.effect === 'restart' && context.powers(one.address)).map((one) => one.address);

/** The change of a profile restarts a container that uses it. */
function restartsByProfile({ document, context }: ChangedObject, change: Change): boolean {
  if (document.kind !== 'profile') return false;
  context.addProfileEdits(document.name, [change]);
  const affects = context.affectedBy(usageAddress(document), (one) => context.effectOfProfile(one, document.name));
  return restarted(affects, context).length > 0;
}

const deferred = ({ address }: Document, message: string): Guard => ({
  code: 'disruption',
  address,
  message,
  remedy: 'wait until restarts are allowed, or revert the change',
});

/** The document without power actions. */
const powerless = (document: Document): Document => ({ ...document, manage: { ...document.manage, power: 'ignore' } });

function decidePart(
  { document, live, diff, before, placement, context }: ChangedObject,
  now: readonly Change[],
  later: readonly Change[],
): Decision {
  const part = { ...diff, changes: now };
  const isTaking = context.options.forceConflicts === true;
  const ignore = parseIgnore(document.manage.ignore);
  const ownership = ownershipAfter(document, before, part, {
    ignore,
    owner: context.owner,
    isForced: isTaking,
    deferred: later,
  });
  const { move: _move, guard: _guard, ...place } = placement;
  return decideUpdate({ document, live, diff: part, ownership, placement: place }, context);
}
