// Makes the plan that turns the observed state into the declared one. Decisions about single objects are in decide-object.ts.
import { capabilityProblems } from './missing-capabilities.ts';
import { clashes, rootlessContainers } from '../clashes/index.ts';
import { withTakeOvers } from './take-overs.ts';
import { projectLimitWarnings } from '../clashes/project-limits.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import { PlanContext } from './plan-context.ts';
import { decideObject } from './decide-object.ts';
import { behindRefused, isRefused, type RefusedChange } from './held-waves.ts';
import { withDependencies } from './external-dependencies.ts';
import type { Address, Document } from '../documents/document.ts';
import { foreignProblems } from '../settings/lxd-settings.ts';
import { buildGraph, sortDocuments, type Graph } from '../graph/graph.ts';
import { coreKind } from '../kinds/index.ts';
import { emptyNatKeys } from '../kinds/network.ts';
import { mapOf } from '../documents/json-values.ts';
import { pinImages } from '../live/image-updates.ts';
import { resolveImages } from '../live/image-sources.ts';
import { normalizeDocuments } from '../graph/normalize.ts';
import type { Observed } from '../documents/observed.ts';
import { compareObjects } from '../text/listing-order.ts';
import type { Plan, PlanInput, PlanOptions, ResourceChange, SetOwner, Step } from '../plan/plan.ts';
import { allows, notCreated } from '../diff/policy.ts';
import { readyIds } from '../graph/ready-steps.ts';
import { decidePrune } from './prune.ts';
import { seedProblems } from '../settings/cloud-init-seeds.ts';
import { makeSteps } from '../plan/step-drafts.ts';
import { summarize } from '../plan/summary.ts';
import { behind, inWaves, WaveBarrier, waveProblems, waveShown, wavesOf } from '../graph/waves.ts';
import { chooseVolumes, onMembers } from '../live/volumes-of-one-name.ts';
import { type Edges, reachable, reverseEdges, unknownAddresses, without } from '../graph/targets.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export function planChanges(input: PlanInput): Plan {
  const options = input.options ?? {};
  const pins = input.images ?? new Map<string, string>();
  const resolved = resolveImages(input.documents, input.observed, input.owner, pins);
  const { objects: normal, diagnostics } = normalizeDocuments(resolved);
  const objects = pinImages(normal, pins, input.observed);
  const { observed, problems: several } = chooseVolumes(input.observed, objects, input.owner?.set);
  const graph = buildGraph(objects, observed);
  const problems = [...diagnostics, ...targetProblems(options, objects)];
  const wanted = selectObjects(graph, options);
  const relevant = graph.diagnostics.filter(
    (diagnostic) => diagnostic.address === undefined || wanted === undefined || wanted.has(diagnostic.address),
  );
  const waves = wavesOf(objects, graph.needs);
  const ahead = withTakeOvers(graph.needs, objects, observed);
  const order = inWaves(ahead === graph.needs ? graph.order : sortDocuments(graph.order, ahead), waves);
  const selected = wanted === undefined ? order : order.filter((object) => wanted.has(object.address));
  // Dependents also miss an object that cannot be created: it is reported once.
  const incapable = [...capabilityProblems(selected, observed), ...seedProblems(selected, observed)];
  const foreign = foreignProblems(selected, observed);
  if (incapable.length > 0 || foreign.some(({ severity }) => severity === 'error'))
    return failedPlan('apply', [...problems, ...incapable, ...foreign]);
  problems.push(...foreign);
  problems.push(
    ...relevant,
    ...several.filter(({ address }) => isSelected(address, wanted)),
    ...waveProblems(selected, graph.needs, waves),
    ...selected.flatMap((object) => creationProblems(object, observed)),
    ...rootlessContainers(objects, observed).filter(({ address }) => isSelected(address, wanted)),
    ...clashes(objects, observed).filter(({ address }) => isSelected(address, wanted)),
  );
  if (problems.some((problem) => problem.severity === 'error')) return failedPlan('apply', problems);
  const context = new PlanContext(observed, options, objects, input.owner, input.compareSeeds);
  return assemble({ selected, everything: objects, ahead, waves }, context, problems);
}

const isSelected = (address: Address | undefined, wanted: ReadonlySet<Address> | undefined): boolean =>
  wanted === undefined || (address !== undefined && wanted.has(address));

/** A plan without steps: errors must be corrected first. */
export const failedPlan = (mode: Plan['mode'], diagnostics: readonly Diagnostic[]): Plan => ({
  mode,
  changes: [],
  orphans: [],
  steps: [],
  guards: [],
  diagnostics,
  summary: summarize([]),
});

/** What a plan is made of, in its order. */
interface Ordered {
  readonly selected: readonly Document[];
  readonly everything: readonly Document[];
  /** What each object waits for. */
  readonly ahead: Edges;
  readonly waves: ReadonlyMap<Address, number>;
}

function assemble(
  { selected, everything, ahead, waves }: Ordered,
  context: PlanContext,
  diagnostics: readonly Diagnostic[],
): Plan {
  const steps: Step[] = [];
  const barrier = new WaveBarrier();
  const changes: ResourceChange[] = [];
  const ready = new Map<Address, readonly string[]>();
  let refused: RefusedChange | undefined;
  for (const object of selected) {
    const wave = waves.get(object.address) ?? 0;
    const decision = withDependencies(object, decideObject(object, context), context);
    const { change, sketches } = behindRefused(decision, wave, refused);
    if (isRefused(change)) refused ??= { address: object.address, wave };
    const before = barrier.enter(wave);
    const needs = readyIds(ahead.get(object.address), ready);
    const made = sketches.length === 0 ? noSteps : makeSteps(object, sketches, behind(needs, before));
    const last = made.at(-1);
    if (last !== undefined) barrier.add(last.id);
    if (last !== undefined) ready.set(object.address, [last.id]);
    else if (needs.length > 0) ready.set(object.address, needs);
    steps.push(...made);
    changes.push({
      ...change,
      ...waveShown(object.address, waves),
      steps: made.length === 0 ? noIds : made.map((step) => step.id),
    });
  }
  const after = waves.size === 0 ? {} : { before: barrier.enter(Infinity), refused };
  const pruned = decidePrune(context, { declared: everything, steps, changes }, ready, after);
  const all = onMembers([...steps, ...pruned.steps], context.observed);
  const limits = projectLimitWarnings(everything, context.observed, all);
  return finishPlan('apply', [...changes, ...pruned.changes], all, [...diagnostics, ...limits], {
    owner: context.owner,
    orphans: pruned.orphans,
  });
}

const noSteps: readonly Step[] = [];
const noIds: readonly string[] = [];

export function finishPlan(
  mode: Plan['mode'],
  changes: ResourceChange[],
  steps: readonly Step[],
  diagnostics: readonly Diagnostic[],
  { owner, orphans = [] }: { readonly owner: SetOwner | undefined; readonly orphans?: readonly Address[] },
): Plan {
  changes.sort(compareObjects);
  const guards = [...new Set(changes.flatMap((change) => change.guard ?? []))];
  const { set, place } = owner ?? {};
  const of = { ...withoutUndefined({ set }), ...(place === undefined ? {} : { place: place.here }) };
  return { mode, ...of, changes, orphans, steps, guards, diagnostics, summary: summarize(changes) };
}

const targetProblems = (options: PlanOptions, objects: readonly Document[]): readonly Diagnostic[] => [
  ...unknownAddresses('--target', options.targets ?? [], objects),
  ...unknownAddresses('--exclude', options.exclude ?? [], objects),
  ...unknownAddresses('--replace', options.replace ?? [], objects),
];

function selectObjects(graph: Graph, { targets = [], exclude = [] }: PlanOptions): ReadonlySet<Address> | undefined {
  const wanted = targets.length === 0 ? undefined : reachable(targets, graph.needs);
  if (exclude.length === 0) return wanted;
  return without(wanted ?? graph.order.map(({ address }) => address), reachable(exclude, reverseEdges(graph.needs)));
}

/** Why an object cannot be created. */
function creationProblems(object: Document, observed: Observed): readonly Diagnostic[] {
  if (object.kind === 'image' && object.values['source'] === undefined && object.files?.fingerprint === undefined)
    return [unreadImage(object)];
  const kind = coreKind(object.kind);
  if (kind.live(observed, kind.apiName(object)) !== undefined) return [];
  if (object.kind === 'server_config') return [unseenServer(object)];
  if (object.isImported === true) return [notImported(object)];
  if (!allows(object.manage, 'create')) return [notCreated(object)];
  if (object.kind === 'container' && object.values['source'] === undefined) return [missingSource(object)];
  if (object.kind === 'network' && observed.networks.has(object.name)) return [takenName(object)];
  if (object.kind === 'network')
    return emptyNatKeys(mapOf(object.values['config'])).map((key) => emptyNat(object, key));
  return [];
}

const problemOf = (object: Document, code: string, message: string, remedy: string): Diagnostic => ({
  severity: 'error',
  code,
  address: object.address,
  path: '',
  message,
  remedy,
  ...object.location,
});

const missingSource = (object: Document): Diagnostic =>
  problemOf(
    object,
    'missing-source',
    `${object.address} does not exist yet and has no source to make it from`,
    'add `source: {type: image, alias: NAME}`, or `source: {type: none}` for an empty container',
  );
const notImported = (object: Document): Diagnostic =>
  problemOf(
    object,
    'import-missing',
    `${object.address} cannot be imported: the server has no such object`,
    'correct the id of the import, or remove the import to create the object',
  );
const unseenServer = (object: Document): Diagnostic =>
  problemOf(
    object,
    'not-visible',
    `${object.address} cannot be read: the server shows its config to trusted clients only`,
    'connect with a certificate that the server trusts, or over its socket',
  );
const emptyNat = (object: Document, key: string): Diagnostic => ({
  ...problemOf(
    object,
    'bad-value',
    `${key} of ${object.address} has no value, so the server would set true when it picks the address of the new network`,
    `write ${key}: false, or leave it out`,
  ),
  path: `config.${key}`,
});
const takenName = (object: Document): Diagnostic =>
  problemOf(
    object,
    'name-taken',
    `${object.address} cannot be created: the host has an unmanaged interface of that name`,
    'choose another name, or leave the document out and refer to the interface as it is',
  );
const unreadImage = (object: Document): Diagnostic =>
  problemOf(
    object,
    'image-not-read',
    `the files of ${object.address} were not read, so it is unknown whether the server has the image`,
    'load the manifests with their image files',
  );
