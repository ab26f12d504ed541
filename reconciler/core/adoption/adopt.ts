// Adopts objects into a set without changing them, and releases them: plans that only write records. Pure.
import { statusCodes } from '../../../server/api/status.ts';
import { PlanContext } from '../decide/plan-context.ts';
import { recordsOf } from '../diff/decide-ownership.ts';
import type { Address, JsonObject } from '../documents/document.ts';
import { pathText } from '../documents/inside.ts';
import { textOf } from '../documents/json-values.ts';
import { chooseVolumes, memberOfVolume } from '../live/volumes-of-one-name.ts';
import { coreKind } from '../kinds/index.ts';
import type { Observed } from '../documents/observed.ts';
import { pathsOf, type OwnerRelease, type OwnerWrite } from '../ownership/owner-records.ts';
import { projectOfLive } from '../live/project-scope.ts';
import { unchangedObject } from '../plan/unchanged-object.ts';
import type { Plan, ResourceChange, SetOwner, UpdateStep } from '../plan/plan.ts';
import { ownedObjects } from '../decide/prune.ts';
import { shownValue } from '../render/render-plan.ts';
import { summarize } from '../plan/summary.ts';
import { bareDocument } from '../documents/bare-document.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface Adoption {
  /** Steps without edits: they only write records. Objects that the set owns already have none. */
  readonly plan: Plan;
  /** The differences that prevent the adoption, one sentence each. */
  readonly refusals: readonly string[];
}

/** `wanted` undefined: all objects of the plan. `plan` must be an apply plan of `owner`. */
export function planAdoption(
  plan: Plan,
  observed: Observed,
  owner: SetOwner,
  wanted: ReadonlySet<Address> | undefined,
): Adoption {
  const changes = plan.changes.filter(({ address, isPruned }) => isPruned !== true && wanted?.has(address) !== false);
  const refusals = changes.flatMap(differencesOf);
  const steps =
    refusals.length > 0 ? [] : changes.flatMap((change) => adoptingStep(change, plan, observed, owner) ?? []);
  return { plan: recordPlan(plan.set ?? owner.set, changes, steps), refusals };
}

const statusOf = (live: object | undefined): unknown => (live as JsonObject | undefined)?.['status_code'];

function differencesOf(change: ResourceChange): readonly string[] {
  const { address, action, power, guard, changes, live } = change;
  if (action === 'create') return [`${address} does not exist: an apply would create it`];
  if (guard?.code === 'conflict') return [`${address}: ${guard.message}`];
  // Nothing says that the object is as declared while a member is away.
  if (guard?.code === 'member') return [guard.message];
  return [
    ...changes.map(
      (edit) =>
        `${address}: ${edit.path} is ${shownValue(edit, edit.before)}, declared ${shownValue(edit, edit.after)}`,
    ),
    ...(power === 'start'
      ? [`${address} is ${statusOf(live) === statusCodes.frozen ? 'frozen' : 'stopped'}, declared running`]
      : []),
    ...(power === 'stop' ? [`${address} is running, declared stopped`] : []),
    ...(power === 'restart' && changes.length === 0 ? [`${address} would restart: ${change.reasons.join(', ')}`] : []),
  ];
}

function adoptingStep(
  change: ResourceChange,
  plan: Plan,
  observed: Observed,
  { set }: SetOwner,
): UpdateStep | undefined {
  const claim = plan.steps.find((step) => step.action === 'update' && change.steps.includes(step.id));
  if (claim?.action === 'update' && claim.owner !== undefined && 'paths' in claim.owner) {
    return { ...claim, needs: [], owner: { ...claim.owner, whole: true } };
  }
  // The set owns its keys already, but perhaps not the whole object.
  const name = apiNameOf(change, observed);
  const record = recordsOf(bareDocument(change.kind, name), change.live ?? {}, observed).get(set);
  if (record === undefined || record.whole) return undefined;
  const { keys, policy, secrets } = record;
  const owner: OwnerWrite = {
    set,
    paths: pathsOf(keys),
    whole: true,
    policy,
    takes: [],
    ...withoutUndefined({ secrets }),
  };
  const hasTwins = change.kind === 'storage_volume' && memberOfVolume(observed, name) !== undefined;
  const member = hasTwins ? textOf((change.live as JsonObject | undefined)?.['location']) : undefined;
  return { ...recordStep(change, name, owner, projectOfLive(observed, change.live ?? {})), ...targetPart(member) };
}

const targetPart = (target: string | undefined): { readonly target?: string } =>
  target === undefined ? {} : { target };

/** The server identifies images and certificates by their fingerprint. */
function apiNameOf({ kind, name, live }: ResourceChange, observed: Observed): string {
  const found = [...coreKind(kind).liveNames(observed)].find(
    (one) => coreKind(kind).live(observed, one)?.object === live,
  );
  return found ?? name;
}

const recordStep = (
  { address, kind }: Pick<ResourceChange, 'address' | 'kind'>,
  name: string,
  owner: OwnerWrite | OwnerRelease,
  project?: string,
): UpdateStep => ({
  id: `${address}#update`,
  address,
  kind,
  name,
  ...withoutUndefined({ project }),
  needs: [],
  timeoutMs: 300_000,
  action: 'update',
  edits: [],
  owner,
});

/** Releases objects of the set: their records are removed, everything else stays. `wanted` undefined: all of them. */
export function planRelease(live: Observed, owner: SetOwner, wanted: ReadonlySet<Address> | undefined): Plan {
  const { observed } = chooseVolumes(live, [], owner.set);
  const objects = ownedOf(observed, owner).filter(({ address }) => wanted?.has(address) !== false);
  const changes = objects.map(({ address, kind, name }): ResourceChange => {
    const live = coreKind(kind).live(observed, name)?.object;
    const record = recordsOf(bareDocument(kind, name), live ?? {}, observed).get(owner.set);
    return {
      ...unchangedObject({ address, kind, name }),
      releases: record === undefined ? [] : pathsOf(record.keys).map(pathText),
      ...withoutUndefined({ live }),
      isProtected: false,
      steps: [],
    };
  });
  const steps = objects.map((one) => ({
    ...recordStep(one, one.name, { set: owner.set, release: true }, one.project),
    ...targetPart(one.kind === 'storage_volume' ? memberOfVolume(observed, one.name) : undefined),
  }));
  return recordPlan(owner.set, changes, steps);
}

/** The objects of the set, under API names. */
export const ownedOf = (observed: Observed, owner: SetOwner): ReturnType<typeof ownedObjects> =>
  ownedObjects(new PlanContext(chooseVolumes(observed, [], owner.set).observed, {}, [], owner), owner);

function recordPlan(set: string, changes: readonly ResourceChange[], unordered: readonly UpdateStep[]): Plan {
  const steps = ordered(unordered);
  const ids = new Set(steps.map(({ id }) => id));
  const own = changes.map((change) => ({ ...change, steps: [`${change.address}#update`].filter((id) => ids.has(id)) }));
  return {
    mode: 'apply',
    isPartial: true,
    set,
    changes: own,
    orphans: [],
    steps,
    guards: [],
    diagnostics: [],
    summary: summarize(own),
  };
}

/** Some servers refuse to write a container while one of its profiles is written. */
function ordered(steps: readonly UpdateStep[]): readonly UpdateStep[] {
  const first = steps.filter(({ kind }) => kind !== 'container');
  const profiles = first.filter(({ kind }) => kind === 'profile').map(({ id }) => id);
  const last = steps.filter(({ kind }) => kind === 'container');
  return [...first, ...last.map((step) => ({ ...step, needs: profiles }))];
}
