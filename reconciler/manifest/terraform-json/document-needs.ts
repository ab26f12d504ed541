// Dependencies among documents from `depends_on` and from references to containers, certificates and settings. A plan finds all
// others itself.
import type { KindName } from '../../../server/api/kinds.ts';
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Json } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import { bareName } from './config/blocks.ts';
import type { Evaluation } from './evaluation/evaluation.ts';
import type { Instance } from './evaluation/instance.ts';
import { documentAddress, PartError, type Draft } from './draft.ts';
import { ArgumentError, isPart, wordOf } from './types/resource-type.ts';
import { resourceTypeOf } from './types/resource-types.ts';

/** Kinds that no document field names, so that a plan cannot find their dependents. */
const unnamed: readonly KindName[] = ['container', 'certificate', 'server_config'];

interface Need {
  readonly from: Draft;
  readonly to: Draft;
  /** The resource that declares it. */
  readonly by: Instance;
  /** True when only a file refers to it: Terraform writes the file after both exist, so the order does not matter. */
  readonly isLoose: boolean;
}

type Guard = (instance: Instance, work: () => void) => void;

/** Adds `manage.depends_on` to the documents. `guarded` reports thrown errors. */
export function addNeeds(drafts: readonly Draft[], evaluation: Evaluation, guarded: Guard): void {
  const holders = new Map(drafts.flatMap((draft) => draft.instances.map((each) => [each.address, draft] as const)));
  const needs: Need[] = [];
  for (const draft of drafts) {
    for (const instance of draft.instances)
      guarded(instance, () => void needs.push(...needsOf(draft, instance, holders, evaluation)));
  }
  const edges = new Map<Draft, Set<Draft>>();
  const firm = needs.filter(({ isLoose }) => !isLoose);
  for (const need of [...firm, ...needs.filter(({ isLoose }) => isLoose)]) guarded(need.by, () => addEdge(need, edges));
  for (const [draft, others] of edges) {
    const { manage } = draft.value;
    draft.value['manage'] = {
      ...(isMap(manage) ? manage : {}),
      depends_on: [...others].map((other) => documentAddress(other)),
    };
  }
}

function addEdge({ from, to, by, isLoose }: Need, edges: Map<Draft, Set<Draft>>): void {
  const known = edges.get(from) ?? new Set<Draft>();
  if (known.has(to)) return;
  if (leadsTo(to, from, edges, new Set())) {
    if (isLoose) return;
    // The plan reports direct cycles itself.
    if (by !== from.instance) throw circle(from, to);
  }
  edges.set(from, known.add(to));
}

const circle = (from: Draft, to: Draft): PartError =>
  new PartError(
    'container',
    `what is inside ${documentAddress(from)} needs ${documentAddress(to)}, which needs ${documentAddress(from)}; ` +
      'Terraform would make both before that, gantry finishes one container before the next',
  );

function leadsTo(from: Draft, to: Draft, edges: ReadonlyMap<Draft, ReadonlySet<Draft>>, seen: Set<Draft>): boolean {
  if (from === to) return true;
  if (seen.has(from)) return false;
  seen.add(from);
  return [...(edges.get(from) ?? [])].some((next) => leadsTo(next, to, edges, seen));
}

function needsOf(
  draft: Draft,
  instance: Instance,
  holders: ReadonlyMap<string, Draft>,
  evaluation: Evaluation,
): readonly Need[] {
  const own = draft.instance.resource;
  const type = resourceTypeOf(instance.resource.type);
  const isFile = type !== undefined && isPart(type) && type.partOf === 'files';
  const found = new Map<Draft, boolean>();
  const add = (to: Draft | undefined, isLoose: boolean): void => {
    // A part refers to its container, perhaps through all instances of the resource.
    const isOwn = to === draft || (instance.resource !== own && to?.instance.resource === own);
    if (to !== undefined && !isOwn) found.set(to, isLoose && found.get(to) !== false);
  };
  for (const { address } of dependedOn(instance, evaluation)) add(holders.get(address), false);
  for (const { address } of evaluation.neededBy(instance)) {
    const holder = holders.get(address);
    if (holder !== undefined && unnamed.includes(holder.type.kind)) add(holder, isFile);
  }
  return [...found].map(([to, isLoose]) => ({ from: draft, to, by: instance, isLoose }));
}

/** The targets of `depends_on` of a resource and of its module blocks. Throws ArgumentError for a target that does not exist. */
export function dependedOn(instance: Instance, evaluation: Evaluation): readonly Instance[] {
  const all = evaluation.instances();
  const found = targetsIn(instance.resource.body['depends_on']).flatMap((target) => {
    const named = namedBy(target, instance.module.address, all);
    const isDeclared = instance.module.tree.config.resources.has(target.replace(/\[.*$/, ''));
    if (named === undefined && !isDeclared) {
      const near = hint(
        target,
        all.map(({ address }) => address),
      );
      throw new ArgumentError('depends_on', `depends_on: there is no ${target}${near}`);
    }
    return named ?? [];
  });
  for (let { module } = instance; module.parent !== undefined; module = module.parent) {
    const outer = module.parent.address;
    for (const target of targetsIn(module.tree.call?.body['depends_on']))
      found.push(...(namedBy(target, outer, all) ?? []));
  }
  return found;
}

const targetsIn = (written: Json | undefined): readonly string[] =>
  Array.isArray(written) ? (written as readonly Json[]).map((each) => bareName(wordOf(each))) : [];

/** `gantry_container.web`, `gantry_container.web[0]`, `module.net`; undefined: nothing. Data sources are read before any step. */
function namedBy(target: string, outer: string, all: readonly Instance[]): readonly Instance[] | undefined {
  if (target.startsWith('data.') || /^(?:var|local)\./.test(target)) return [];
  const wanted = `${outer}${target}`;
  const isModule = /^module\.[^.[]+(?:\[[^\]]*\])?$/.test(target);
  const found = all.filter(({ address }) => {
    if (address === wanted || address.startsWith(`${wanted}[`)) return true;
    return isModule && (address.startsWith(`${wanted}.`) || address.startsWith(`${wanted}[`));
  });
  return found.length === 0 && !isModule ? undefined : found;
}
