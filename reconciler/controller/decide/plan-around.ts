// Plans a set without the objects that have errors; each of those gets a guard with its error. Pure.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Address, Document } from '../../core/documents/document.ts';
import type { Observed } from '../../core/documents/observed.ts';
import { buildGraph } from '../../core/graph/graph.ts';
import { normalizeDocuments } from '../../core/graph/normalize.ts';
import { reachable, reverseEdges } from '../../core/graph/targets.ts';
import { wavesOf } from '../../core/graph/waves.ts';
import { coreKind } from '../../core/kinds/index.ts';
import type { Guard, Plan, ResourceChange } from '../../core/plan/plan.ts';
import { compareObjects } from '../../core/text/listing-order.ts';
import type { MadePlan } from '../../engine/runs/make-plan.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const maxErrors = 3;

type Broken = ReadonlyMap<Address, Diagnostic>;

/** Throws for errors that belong to no declared object. `plan`: makes a plan without some objects and their dependents. */
export function planAround(documents: readonly Document[], plan: (exclude: readonly Address[]) => MadePlan): MadePlan {
  const declared = new Set<Address>(documents.map(({ address }) => address));
  const broken = new Map<Address, Diagnostic>();
  for (;;) {
    const made = plan([...broken.keys(), ...laterThan(broken, documents)]);
    const errors = made.plan.diagnostics.filter(({ severity }) => severity === 'error');
    if (errors.length === 0) return broken.size === 0 ? made : withBroken(made, documents, broken);
    let isNews = false;
    for (const error of errors) {
      const { address } = error;
      if (address === undefined || !declared.has(address) || broken.has(address)) continue;
      broken.set(address, error);
      isNews = true;
    }
    if (!isNews) throw new Error(errors.slice(0, maxErrors).map(textOf).join('; '));
  }
}

const textOf = ({ address, message }: Diagnostic): string =>
  address === undefined || message.startsWith(address) ? message : `${address}: ${message}`;

function withBroken(made: MadePlan, documents: readonly Document[], broken: Broken): MadePlan {
  const { plan, observed } = made;
  const { needs } = buildGraph(normalizeDocuments(documents).objects, undefined);
  const later = laterThan(broken, documents);
  const reached = reachable([...broken.keys(), ...later], reverseEdges(needs));
  const planned = new Set<Address>(plan.changes.map(({ address }) => address));
  const left = documents.flatMap((document): readonly ResourceChange[] => {
    const { address } = document;
    const error = broken.get(address);
    if (error !== undefined) return [leftOut(document, observed, invalid(address, error))];
    if (planned.has(address) || !reached.has(address)) return [];
    const first = [...reachable([address], needs)].find((one) => broken.has(one));
    return [leftOut(document, observed, first === undefined ? inLaterWave(address, broken) : needing(address, first))];
  });
  const changes = [...plan.changes, ...left].sort(compareObjects);
  const guards = [...left.flatMap(({ guard }) => guard ?? []), ...plan.guards];
  const whole: Plan = { ...plan, isPartial: true, changes, guards };
  return { ...made, plan: whole };
}

const invalid = (address: Address, error: Diagnostic): Guard => ({
  code: 'invalid',
  address,
  message: textOf(error),
  remedy: error.remedy ?? 'correct its document',
});

const needing = (address: Address, on: Address): Guard => ({
  code: 'dependency',
  address,
  message: `${address} needs ${on}, which has an error`,
  remedy: `correct ${on}`,
});

const inLaterWave = (address: Address, broken: Broken): Guard => ({
  code: 'dependency',
  address,
  message: `${address} is in a later wave than an object with an error: ${[...broken.keys()].slice(0, maxErrors).join(', ')}`,
  remedy: 'correct what has an error',
});

/** Objects in later waves than one that has an error. */
function laterThan(broken: Broken, documents: readonly Document[]): readonly Address[] {
  if (broken.size === 0) return [];
  const { objects } = normalizeDocuments(documents);
  const waves = wavesOf(objects, buildGraph(objects, undefined).needs);
  const waveOf = (address: Address): number => waves.get(address) ?? 0;
  const first = Math.min(...[...broken.keys()].map(waveOf));
  return objects.flatMap(({ address }) => (waveOf(address) > first ? [address] : []));
}

function leftOut(document: Document, observed: Observed, guard: Guard): ResourceChange {
  const { address, kind, name } = document;
  const row = coreKind(kind);
  const live = row.live(observed, row.apiName(document))?.object;
  return {
    address,
    kind,
    name,
    action: live === undefined ? 'create' : 'no-op',
    changes: [],
    effect: 'live',
    reasons: [],
    unmanaged: [],
    claims: [],
    releases: [],
    affects: [],
    isProtected: false,
    ...withoutUndefined({ live }),
    guard,
    steps: [],
  };
}
