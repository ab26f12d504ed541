// Makes the plan that deletes what is declared, users before what they use. What others still use stays, with a guard.
import type { Container } from '../../server/api/container.ts';
import type { Change } from './change.ts';
import { inUseGuard, isProtected, protectedGuard } from './decide.ts';
import { usageAddress } from './decide-ownership.ts';
import { addressOf, type Address, type Document, type Json, type JsonObject } from './document.ts';
import { applyEdits } from './edit.ts';
import { buildGraph, sortByNeeds } from './graph.ts';
import { deviceReferences } from './kinds/devices.ts';
import { coreKind } from './kinds/index.ts';
import { isMap } from './kinds/values.ts';
import { normalizeDocuments } from './normalize.ts';
import type { Live, Observed } from './observed.ts';
import { compareText } from './order.ts';
import { failedPlan, finishPlan, readyIds } from './plan-changes.ts';
import type { Guard, Plan, PlanInput, ResourceChange, Step } from './plan.ts';
import { isSecret } from './secret.ts';
import { deleting, kill, makeSteps, type Sketch } from './sketch.ts';
import { reachable, reverseEdges, unknownAddresses, type Edges } from './targets.ts';
import { findUsage, isRunning, type Usage } from './usage.ts';

export function planDestroy(input: PlanInput): Plan {
  const { objects, diagnostics } = normalizeDocuments(input.documents);
  const targets = input.options?.targets ?? [];
  const graph = buildGraph(objects, input.observed);
  // A missing reference is no obstacle: what is gone need not be deleted.
  const problems = [
    ...diagnostics.filter((problem) => problem.code !== 'same-image'),
    ...graph.diagnostics.filter((problem) => problem.code === 'reference-cycle'),
    ...unknownAddresses('--target', targets, objects),
  ];
  if (problems.some((problem) => problem.severity === 'error')) return failedPlan('destroy', problems);
  const usage = findUsage(input.observed);
  const users = withLiveUsers(objects, reverseEdges(graph.needs), usage);
  const wanted = targets.length === 0 ? undefined : reachable(targets, users);
  const selected = wanted === undefined ? objects : objects.filter((object) => wanted.has(object.address));
  const { order } = sortByNeeds(selected, users);
  const byAddress = new Map(selected.map((object) => [object.address, object]));
  const ordered = order.flatMap((address) => byAddress.get(address) ?? []);
  return assemble(ordered, { observed: input.observed, usage, users });
}

interface World {
  readonly observed: Observed;
  readonly usage: Usage;
  /** Declared objects that must go before the key. */
  readonly users: Edges;
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
  const released: Released = new Map();
  for (const object of ordered) {
    const { change, sketches } = decideDelete(object, world, released);
    const needs = readyIds(world.users.get(object.address), ready);
    const made = makeSteps(object, sketches, needs);
    const last = made.at(-1);
    if (last !== undefined) released.set(object.address, keptUses(object, sketches, world.observed));
    ready.set(object.address, last === undefined ? needs : [last.id]);
    steps.push(...made);
    changes.push({ ...change, steps: made.map((step) => step.id) });
  }
  return finishPlan('destroy', changes, steps, [], undefined);
}

/** Objects that let go of what they use in this plan, with what each goes on using. */
type Released = Map<string, ReadonlySet<Address>>;

/** A deleted object uses nothing; a profile that is only reset keeps the devices that were never declared. */
function keptUses(object: Document, sketches: readonly Sketch[], observed: Observed): ReadonlySet<Address> {
  const kind = coreKind(object.kind);
  const live = kind.live(observed, kind.apiName(object))?.object as JsonObject | undefined;
  const reset = sketches.find((sketch) => sketch.action === 'update');
  if (reset === undefined || live === undefined) return new Set();
  const { devices } = applyEdits(live, reset.edits);
  return new Set(deviceReferences(devices).map((reference) => addressOf(reference.kind, reference.name)));
}

interface Deletion {
  readonly change: Omit<ResourceChange, 'steps'>;
  readonly sketches: readonly Sketch[];
}

function decideDelete(object: Document, world: World, released: Released): Deletion {
  const kind = coreKind(object.kind);
  const live = kind.live(world.observed, kind.apiName(object));
  if (live === undefined) return unchanged(object, undefined, ['it does not exist']);
  const used = usageAddress(object);
  const left = (world.usage.get(used) ?? []).filter((user) => released.get(user)?.has(used) ?? true);
  if (kind.isPermanent?.(object.name) === true) return decideReset(object, live, left);
  const guard = guardDelete(object, live, left);
  const runs = object.kind === 'container' && isRunning(live.object as Container);
  return {
    change: {
      ...describe(object, live),
      action: 'delete',
      reasons: [],
      ...(guard === undefined ? {} : { guard }),
    },
    sketches: guard === undefined ? [...(runs ? [kill] : []), deleting(live.etag)] : [],
  };
}

function guardDelete(object: Document, live: Live<object>, left: readonly string[]): Guard | undefined {
  if (isProtected(object, live)) return protectedGuard(object.address, 'delete');
  return left.length > 0 ? inUseGuard(object.address, 'delete', left) : undefined;
}

/** The default profile cannot be deleted: what the document wrote is taken out of it, unless others rely on it. */
function decideReset(object: Document, live: Live<object>, left: readonly string[]): Deletion {
  if (isProtected(object, live)) return unchanged(object, live, ['it is protected']);
  if (left.length > 0) {
    return unchanged(object, live, [`it cannot be deleted, and others rely on what is in it: ${left.join(', ')}`]);
  }
  const edits = takenBack(object, live.object as JsonObject);
  if (edits.length === 0) return unchanged(object, live, ['it cannot be deleted, and nothing declared is left in it']);
  return {
    change: {
      ...describe(object, live),
      action: 'update',
      changes: edits,
      reasons: ['it cannot be deleted: what is declared is taken out of it'],
    },
    sketches: [{ action: 'update', edits, ...(live.etag === undefined ? {} : { etag: live.etag }) }],
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
      edits.push({
        path: segments.join('.'),
        segments,
        before,
        after: undefined,
        effect: 'live',
        secret: isSecret(segments, before),
      });
    }
  }
  return edits.sort((a, b) => compareText(a.path, b.path));
}

const describe = (
  object: Document,
  live: Live<object> | undefined,
): Omit<ResourceChange, 'steps' | 'action' | 'reasons'> => ({
  address: object.address,
  kind: object.kind,
  name: object.name,
  changes: [],
  effect: 'live',
  unmanaged: [],
  claims: [],
  releases: [],
  affects: [],
  ...(live === undefined ? {} : { live: live.object }),
  isProtected: isProtected(object, live),
});

const unchanged = (object: Document, live: Live<object> | undefined, reasons: readonly string[]): Deletion => ({
  change: { ...describe(object, live), action: 'no-op', reasons },
  sketches: [],
});
