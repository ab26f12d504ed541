// Makes the plan that deletes the declared objects, users before the objects they use. A guard keeps objects that others still use.
import type { KindName } from '../../../server/api/kinds.ts';
import { decideDelete } from './decide-delete.ts';
import { usageAddress } from '../diff/decide-ownership.ts';
import { addressOf, type Address, type Document, type JsonObject } from '../documents/document.ts';
import { applyEdits } from '../plan/apply-edits.ts';
import { buildGraph } from '../graph/graph.ts';
import { resolveImages } from '../live/image-sources.ts';
import { deviceReferences } from '../kinds/devices.ts';
import { coreKind } from '../kinds/index.ts';
import { textsOf } from '../documents/json-values.ts';
import { normalizeDocuments } from '../graph/normalize.ts';
import type { Observed } from '../documents/observed.ts';
import { failedPlan, finishPlan } from './plan-changes.ts';
import { beforeRefused, isRefused, type RefusedChange } from './held-waves.ts';
import { readyIds } from '../graph/ready-steps.ts';
import type { Guard, Plan, PlanInput, ResourceChange, SetOwner, Step } from '../plan/plan.ts';
import { scopesOf } from '../live/project-scope.ts';
import { makeSteps, type Sketch } from '../plan/step-drafts.ts';
import { reachable, reverseEdges, unknownAddresses, without, type Edges } from '../graph/targets.ts';
import { behind, deletionOrder, WaveBarrier, waveShown } from '../graph/waves.ts';
import { findUsage, type Usage } from '../live/usage.ts';
import { chooseVolumes, onMembers } from '../live/volumes-of-one-name.ts';

export function planDestroy(input: PlanInput): Plan {
  const resolved = resolveImages(input.documents, input.observed, input.owner, input.images ?? new Map());
  const { objects, diagnostics } = normalizeDocuments(resolved);
  const { observed, problems: several } = chooseVolumes(input.observed, objects, input.owner?.set);
  const { targets = [], exclude = [] } = input.options ?? {};
  const graph = buildGraph(objects, observed);
  // A missing reference is no obstacle: an object that does not exist needs no deletion.
  const problems = [
    ...several,
    ...diagnostics.filter((problem) => problem.code !== 'same-image'),
    ...graph.diagnostics.filter((problem) => problem.code === 'reference-cycle'),
    ...unknownAddresses('--target', targets, objects),
    ...unknownAddresses('--exclude', exclude, objects),
  ];
  if (problems.some((problem) => problem.severity === 'error')) return failedPlan('destroy', problems);
  const usage = findUsage(observed);
  const users = withLiveUsers(objects, reverseEdges(graph.needs), usage);
  const meant = targets.length === 0 ? undefined : reachable(targets, users);
  // An object that stays keeps the objects it uses.
  const kept = reachable(exclude, reverseEdges(users));
  const wanted = exclude.length === 0 ? meant : without(meant ?? objects.map(({ address }) => address), kept);
  const selected = wanted === undefined ? objects : objects.filter((object) => wanted.has(object.address));
  const { order, waves } = deletionOrder(selected, users, objects);
  const plan = assemble(order, { observed, owner: input.owner, usage, users, waves });
  return wanted === undefined ? plan : { ...plan, isPartial: true };
}

interface World {
  readonly observed: Observed;
  readonly owner: SetOwner | undefined;
  readonly usage: Usage;
  /** Declared objects that must go before the key. */
  readonly users: Edges;
  /** Higher ones go first. */
  readonly waves: ReadonlyMap<Address, number>;
}

function withLiveUsers(objects: readonly Document[], declared: Edges, usage: Usage): Edges {
  const known = new Set<string>(objects.map((object) => object.address));
  return new Map(
    objects.map((object) => {
      const live = (usage.get(usageAddress(object)) ?? []).filter((user) => known.has(user)) as Address[];
      return [object.address, [...new Set([...(declared.get(object.address) ?? []), ...live])].sort()];
    }),
  );
}

function assemble(ordered: readonly Document[], world: World): Plan {
  const steps: Step[] = [];
  const changes: ResourceChange[] = [];
  const ready = new Map<Address, readonly string[]>();
  const released: ReleasedUses = new Map();
  const barrier = new WaveBarrier();
  const leftUsers = (used: Address): readonly string[] =>
    (world.usage.get(used) ?? []).filter((user) => released.get(user)?.has(used) ?? true);
  const foreign = new Map<Address, Guard>();
  let refused: RefusedChange | undefined;
  for (const object of ordered) {
    const decided = decideDelete(object, { ...world, leftUsers });
    const wave = world.waves.get(object.address) ?? 0;
    const { change, sketches } = beforeRefused(decided, wave, refused);
    if (isRefused(change)) refused ??= { address: object.address, wave };
    if (decided.foreign !== undefined) foreign.set(object.address, decided.foreign);
    const before = barrier.enter(wave);
    const needs = readyIds(world.users.get(object.address), ready);
    const made = makeSteps(object, sketches, behind(needs, before));
    const last = made.at(-1);
    if (last !== undefined) barrier.add(last.id);
    // Users are listed by their API names.
    if (last !== undefined) released.set(usageAddress(object), keptUses(object, sketches, world.observed));
    ready.set(object.address, last === undefined ? needs : [last.id]);
    steps.push(...made);
    changes.push({ ...change, ...waveShown(object.address, world.waves), steps: made.map((step) => step.id) });
  }
  const shown = steps.length > 0 ? changes : changes.map((change) => refusedWhenForeign(change, foreign));
  return finishPlan('destroy', shown, onMembers(steps, world.observed), [], { owner: world.owner });
}

/** If a destroy has nothing to do, names the owners of the existing objects. */
function refusedWhenForeign(change: ResourceChange, foreign: ReadonlyMap<Address, Guard>): ResourceChange {
  const guard = foreign.get(change.address);
  return guard === undefined ? change : { ...change, action: 'delete', reasons: [], guard };
}

/** Objects that stop using others in this plan, with the objects that each still uses. */
type ReleasedUses = Map<string, ReadonlySet<string>>;

/** A deleted object uses nothing; a profile that is only reset keeps the devices that were never declared. */
function keptUses(object: Document, sketches: readonly Sketch[], observed: Observed): ReadonlySet<Address> {
  const kind = coreKind(object.kind);
  const live = kind.live(observed, kind.apiName(object))?.object as JsonObject | undefined;
  const reset = sketches.find((sketch) => sketch.action === 'update');
  if (reset === undefined || live === undefined) return new Set();
  const after = applyEdits(live, reset.edits);
  // A container keeps the devices of its profiles.
  const kept = [...deviceReferences(after['devices']), ...deviceReferences(after['expanded_devices'])];
  const { keyOf } = scopesOf(observed);
  const key = (used: KindName, name: string): Address => addressOf(used, keyOf(used, name, object.project));
  return new Set([
    ...kept.map((reference) => key(reference.kind, reference.name)),
    ...(typeof after['target'] === 'string' ? [key('image', after['target'])] : []),
    ...textsOf(after['profiles']).map((name) => key('profile', name)),
  ]);
}
