// Objects that the set owns and no document declares. --prune deletes them within a limit: users before the objects they use, in the
// reverse of the order that their last apply recorded, and after the changes that stop using them. Objects with data need an explicit
// permission, and go last.
import type { PlanContext } from './plan-context.ts';
import { decideDelete, unchanged, type Deletion } from './decide-delete.ts';
import { recordsOf, usageAddress } from '../diff/decide-ownership.ts';
import { addressOf, defaultManage, type Address, type Document } from '../documents/document.ts';
import { isAside } from '../live/image-updates.ts';
import { coreKind, coreKinds } from '../kinds/index.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { OwnerRecord } from '../ownership/owner-records.ts';
import type { Guard, PlanOptions, ResourceChange, SetOwner, Step } from '../plan/plan.ts';
import { projectOfLive } from '../live/project-scope.ts';
import { readyIds, type Ready } from '../graph/ready-steps.ts';
import { otherPlace } from '../ownership/place.ts';
import { makeSteps } from '../plan/step-drafts.ts';
import { findUsage } from '../live/usage.ts';
import { reverseEdges } from '../graph/targets.ts';
import { behind, deletionOrder, WaveBarrier } from '../graph/waves.ts';
import { DataHold, holdsData, type PlanSoFar } from './data-hold.ts';
import { beforeRefused, behindRefused, isRefused, type RefusedChange } from './held-waves.ts';
import { UsesLeft } from './uses-left.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface PrunePart {
  readonly changes: readonly ResourceChange[];
  readonly steps: readonly Step[];
  readonly orphans: readonly Address[];
}

const nothing: PrunePart = { changes: [], steps: [], orphans: [] };

/** What comes before all deletions when the set has waves: the last steps of the last wave, and the first refused change. */
export interface WavesBefore {
  readonly before?: readonly string[];
  readonly refused?: RefusedChange | undefined;
}

/** `plan.declared`: all documents of the set, also those outside --target. */
export function decidePrune(context: PlanContext, plan: PlanSoFar, ready: Ready, waves: WavesBefore): PrunePart {
  const { owner, options } = context;
  if (owner === undefined) return nothing;
  const known = new Set<Address>(plan.declared.map(usageAddress));
  const orphans = ownedObjects(context, owner, known);
  if (orphans.length === 0) return nothing;
  const isPruning = options.prune === true && (options.targets ?? []).length === 0;
  const due = isPruning ? orphans.filter((one) => one.manage.prune !== false) : [];
  const going = due.filter(({ address }) => options.leaves?.has(address) !== true);
  // Objects declared in another directory are not orphans of this one.
  const isElsewhere = ({ kind, name }: Document): boolean => {
    const live = coreKind(kind).live(context.observed, name);
    const document = orphanOf(kind, name, undefined);
    const record = live && recordsOf(document, live.object, context.observed).get(owner.set);
    return otherPlace(record?.place, owner.place) !== undefined;
  };
  const kept = orphans.filter((one) => !due.includes(one) && !isElsewhere(one)).map((one) => one.address);
  const owned = going.length === 0 ? 0 : ownedObjects(context, owner).length;
  const isTooMuch = going.length > limitOf(options, owned);
  const made = isTooMuch ? refused(going, context, owned) : goAway(going, context, plan, ready, waves);
  const left = due.flatMap((one) => leftAlone(one, context) ?? []);
  return { ...made, changes: [...made.changes, ...left], orphans: kept };
}

function leftAlone(one: Document, { observed, options }: PlanContext): ResourceChange | undefined {
  const reason = options.leaves?.get(one.address);
  if (reason === undefined) return undefined;
  const live = coreKind(one.kind).live(observed, one.name);
  return { ...unchanged(one, live, [reason]).change, isPruned: true, steps: [] };
}

/** Documents that hold only the `manage:` which the last apply recorded. Sorted, without those at `except`. */
export function ownedObjects(
  context: PlanContext,
  owner: SetOwner,
  except: ReadonlySet<Address> = noAddresses,
): readonly Document[] {
  const found: Document[] = [];
  for (const kind of Object.keys(coreKinds) as KindName[]) {
    const names = [...coreKind(kind).liveNames(context.observed)].filter((name) => !except.has(addressOf(kind, name)));
    for (const name of names.sort()) {
      const live = coreKind(kind).live(context.observed, name);
      const document = orphanOf(kind, name, undefined);
      const record =
        live === undefined || isAside(live.object)
          ? undefined
          : recordsOf(document, live.object, context.observed).get(owner.set);
      const project = live === undefined ? undefined : projectOfLive(context.observed, live.object);
      if (record !== undefined) found.push({ ...orphanOf(kind, name, record), ...withoutUndefined({ project }) });
    }
  }
  return found;
}

const noAddresses: ReadonlySet<Address> = new Set();

function orphanOf(kind: KindName, name: string, record: OwnerRecord | undefined): Document {
  const { prune, wave, ...policy } = record?.policy ?? {};
  return {
    kind,
    name,
    address: addressOf(kind, name),
    location: { file: '', line: 0, column: 0 },
    values: {},
    manage: {
      ...defaultManage,
      ...policy,
      ...withoutUndefined({ prune, wave }),
    },
  };
}

const leastLimit = 3;

function limitOf({ pruneLimit }: PlanOptions, owned: number): number {
  if (pruneLimit === undefined) return Math.max(leastLimit, Math.floor(owned / 2));
  if ('count' in pruneLimit) return pruneLimit.count;
  // A percentage allows at least one object: otherwise the last objects of a small set could never be pruned.
  return pruneLimit.percent === 0 ? 0 : Math.max(1, Math.floor((owned * pruneLimit.percent) / 100));
}

function refused(going: readonly Document[], context: PlanContext, owned: number): Omit<PrunePart, 'orphans'> {
  const address = going[0]?.address ?? 'profile/';
  // One guard for all of them.
  const guard = limitGuard(address, going.length, limitOf(context.options, owned), owned);
  const changes = going.map((one): ResourceChange => {
    const live = coreKind(one.kind).live(context.observed, one.name);
    return { ...unchanged(one, live, []).change, action: 'delete', isPruned: true, steps: [], guard };
  });
  return { changes, steps: [] };
}

const limitGuard = (address: Address, count: number, limit: number, owned: number): Guard => ({
  code: 'prune-limit',
  address,
  message: `${count} of the ${owned} objects of the set are no longer declared, more than the ${limit} that may be pruned at once: nothing is pruned`,
  remedy: 'check that the command got all manifests; then allow it with --prune-limit',
});

function goAway(
  going: readonly Document[],
  context: PlanContext,
  plan: PlanSoFar,
  ready: Ready,
  { before = [], refused: refusedChange }: WavesBefore,
): Omit<PrunePart, 'orphans'> {
  const [now, left] = [findUsage(context.observed), new UsesLeft(context.observed, plan.steps)];
  const dependents = reverseEdges(new Map(going.map(({ address, manage }) => [address, manage.dependsOn])));
  const dependentsOf = ({ address }: Document): readonly Address[] => dependents.get(address) ?? [];
  /** Before or after the rest of the plan. */
  const usersOf = ({ address }: Document): readonly Address[] =>
    [...new Set([...(now.get(address) ?? []), ...left.of(address)])] as Address[];
  const users = new Map(going.map((one) => [one.address, [...usersOf(one), ...dependentsOf(one)]]));
  const { order, waves } = deletionOrder(going, users);
  const barrier = new WaveBarrier();
  let held: RefusedChange | undefined;
  const after = new Map(ready);
  const hold = new DataHold(context, plan);
  const made: Step[] = [];
  const changes: ResourceChange[] = [];
  for (const one of order) {
    const { address } = one;
    const wave = waves.get(address) ?? 0;
    const leftUsers = (used: Address): readonly string[] => left.of(used);
    const world = { observed: context.observed, owner: context.owner, leftUsers };
    const deletion = guarded(one, decideDelete(one, world), context.options, hold.guardOf(one));
    const { change, sketches } = beforeRefused(behindRefused(deletion, Infinity, refusedChange), wave, held);
    if (isRefused(change)) held ??= { address, wave };
    const ordered = behind(behind(readyIds(dependentsOf(one), after), barrier.enter(wave)), before);
    const late = change.action === 'delete' ? hold.stepsBefore(one, ordered) : ordered;
    const needs = behind(readyIds(usersOf(one), after), late);
    const own = makeSteps(one, sketches, needs);
    const last = own.at(-1);
    if (last !== undefined) barrier.add(last.id);
    after.set(address, last === undefined ? needs : [last.id]);
    left.add(own);
    made.push(...own);
    changes.push({ ...change, isPruned: true, steps: own.map((step) => step.id) });
  }
  return { changes, steps: made };
}

/** Containers and pools hold more than documents declare. `held`: why it must wait. */
function guarded(one: Document, decision: Deletion, options: PlanOptions, held: Guard | undefined): Deletion {
  const isDelete = decision.change.action === 'delete' && decision.change.guard === undefined;
  const asks = (holdsData(one) && one.manage.prune !== true) || one.manage.prune === 'confirm';
  if (!isDelete) return decision;
  if (options.allowDestroy === true || !asks)
    return held === undefined ? decision : { change: { ...decision.change, guard: held }, sketches: [] };
  const guard: Guard = {
    code: 'data',
    address: one.address,
    message:
      one.manage.prune === 'confirm'
        ? `${one.address} asks to be pruned only with a confirmation (manage.prune: confirm)`
        : `pruning ${one.address} would delete the data in it`,
    remedy: 'prune with --allow-destroy; manage.prune: true in the last apply would have allowed it permanently',
  };
  return { change: { ...decision.change, guard }, sketches: [] };
}
