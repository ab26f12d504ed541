// Decides which of several custom volumes with one name on different members a document means, and the member for its steps. Pure.
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Address, Document } from '../documents/document.ts';
import type { Live, Observed, PooledVolume } from '../documents/observed.ts';
import { textOf } from '../documents/json-values.ts';
import { coreKind } from '../kinds/index.ts';
import { recordsIn } from '../ownership/owner-records.ts';
import type { Step } from '../plan/plan.ts';
import { compareText } from '../text/listing-order.ts';

/** A table of objects by name. If several share a name, the first has the others as `twins`. */
export function tableWithTwins<T>(objects: readonly (readonly [string, T])[]): ReadonlyMap<string, Live<T>> {
  const table = new Map<string, Live<T>>();
  for (const [name, object] of objects) {
    const first = table.get(name);
    table.set(name, first === undefined ? { object } : { ...first, twins: [...(first.twins ?? []), object] });
  }
  return table;
}

export interface Choice {
  /** For each name, the volume that the document means; none if its `target` has none. */
  readonly observed: Observed;
  readonly problems: readonly Diagnostic[];
}

/** The volume on the `target` of the document; without a target, the one that the set owns. */
export function chooseVolumes(observed: Observed, documents: readonly Document[], set: string | undefined): Choice {
  const several = [...observed.volumes].filter(([, { twins }]) => twins !== undefined);
  if (several.length === 0) return { observed, problems: [] };
  const volume = coreKind('storage_volume');
  const declared = new Map(
    documents.filter(({ kind }) => kind === 'storage_volume').map((one) => [volume.apiName(one), one] as const),
  );
  const volumes = new Map(observed.volumes);
  const problems: Diagnostic[] = [];
  for (const [name, live] of several) {
    const document = declared.get(name);
    const all = [live.object, ...(live.twins ?? [])].toSorted((a, b) => compareText(memberOf(a), memberOf(b)));
    const target = textOf(document?.values['target']);
    const isNamed = target !== undefined && !target.startsWith('@');
    const owned = set === undefined ? [] : all.filter((one) => recordsIn(one).has(set));
    const only = document === undefined ? (owned[0] ?? all[0]) : owned.length === 1 ? owned[0] : undefined;
    const meant = isNamed ? all.find((one) => memberOf(one) === target) : only;
    if (meant !== undefined) volumes.set(name, { object: meant, twins: all.filter((one) => one !== meant) });
    else if (isNamed) volumes.delete(name);
    else if (document !== undefined) problems.push(ambiguous(document, all.map(memberOf)));
  }
  return { observed: { ...observed, volumes }, problems };
}

const memberOf = (volume: Partial<PooledVolume>): string => textOf(volume.location) ?? '';

/** The volume on the member, if several share the name. */
export function onMember(live: Live<object> | undefined, target: string | undefined): Live<object> | undefined {
  if (live?.twins === undefined || target === undefined || target.startsWith('@')) return live;
  const found = [live.object, ...live.twins].find((one) => memberOf(one) === target);
  return found === undefined ? undefined : { object: found };
}

/** All members with a volume of this name, if there are several. */
export function membersWith({ volumes }: Observed, name: string): readonly string[] {
  const live = volumes.get(name);
  return live?.twins === undefined ? [] : [live.object, ...live.twins].map(memberOf).toSorted();
}

const ambiguous = ({ address, location }: Document, members: readonly string[]): Diagnostic => ({
  severity: 'error',
  code: 'several-volumes',
  address,
  path: 'target',
  message: `${address}: ${members.join(', ')} have a volume of this name each, and the document names none of them`,
  remedy: `write target: ${members.join(' or target: ')}`,
  ...location,
});

/** The member that a step about this volume must name; undefined if the name is unique. */
export function memberOfVolume({ volumes }: Pick<Observed, 'volumes'>, name: string): string | undefined {
  const live = volumes.get(name);
  return live?.twins === undefined ? undefined : textOf(live.object.location);
}

/** Adds the member to steps about volumes whose name is not unique. */
export function onMembers(steps: readonly Step[], observed: Pick<Observed, 'volumes'>): readonly Step[] {
  const made = new Map<Address, string>();
  return steps.map((step) => {
    if (step.kind !== 'storage_volume') return step;
    if (step.action === 'create' && step.target?.startsWith('@') === false) made.set(step.address, step.target);
    if (step.action !== 'update' && step.action !== 'delete' && step.action !== 'snapshot') return step;
    const target = step.target ?? memberOfVolume(observed, step.name) ?? made.get(step.address);
    return target === undefined ? step : { ...step, target };
  });
}
