// The dependency graph: edges from names in documents and from depends_on, missing references, cycles, and an order.
import { hint } from '../../../server/api/text/nearest-word.ts';
import { kinds, type KindName } from '../../../server/api/kinds.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import { addressOf, type Address, type Document } from '../documents/document.ts';
import { coreKind, liveAt } from '../kinds/index.ts';
import type { Reference } from '../kinds/kind.ts';
import type { Observed } from '../documents/observed.ts';
import { referencesIn, scopesOf, type Scopes } from '../live/project-scope.ts';

export interface Graph {
  /** The declared objects that each declared object needs; sorted, without itself. */
  readonly needs: ReadonlyMap<Address, readonly Address[]>;
  /** Every object comes after all it needs; the order does not depend on the order of the documents. */
  readonly order: readonly Document[];
  readonly diagnostics: readonly Diagnostic[];
}

const noNeeds: readonly Address[] = [];
const noneBroken: ReadonlySet<Address> = new Set();

/**
 * `observed` undefined: offline, where an undeclared object may exist on the server. Objects must be sorted. `broken` objects
 * are declared but have problems of their own: they are not reported as missing.
 */
export function buildGraph(
  objects: readonly Document[],
  observed: Observed | undefined,
  broken: ReadonlySet<Address> = noneBroken,
): Graph {
  const diagnostics: Diagnostic[] = [];
  const names = new KnownNames(objects, observed);
  const isOnline = observed !== undefined;
  const { declared, needs } = needsOf(objects, observed, {
    missing: (object, reference) => {
      if (broken.has(addressOf(reference.kind, reference.name)) || isLive(reference, observed)) return;
      diagnostics.push(missing(object, reference, names, isOnline));
    },
    missingDependency: (object, address, index, declared) => {
      if (broken.has(address) || isDependencyLive(address, observed)) return;
      diagnostics.push(missingDependency(object, address, index, declared, isOnline));
    },
    ownDependency: (object, index) => diagnostics.push(dependsOnItself(object, index)),
  });
  const { order, cycles } = sortedOnce(objects, needs);
  diagnostics.push(...cycles.map((cycle) => circular(cycle, declared)));
  return { needs, order: order.flatMap((address) => declared.get(address) ?? []), diagnostics };
}

/** Dependency cycles. A plan of the same objects reuses the result. */
export function findCycles(objects: readonly Document[]): readonly Diagnostic[] {
  const own: Diagnostic[] = [];
  const { declared, needs } = needsOf(objects, undefined, {
    ownDependency: (object, index) => own.push(dependsOnItself(object, index)),
  });
  return [...own, ...sortedOnce(objects, needs).cycles.map((cycle) => circular(cycle, declared))];
}

/** How to report names that no document declares but the server may have. */
interface Reports {
  readonly missing?: (object: Document, reference: Reference) => void;
  readonly missingDependency?: (
    object: Document,
    address: Address,
    index: number,
    declared: ReadonlyMap<Address, Document>,
  ) => void;
  readonly ownDependency?: (object: Document, index: number) => void;
}

interface Needs {
  readonly declared: ReadonlyMap<Address, Document>;
  readonly needs: ReadonlyMap<Address, readonly Address[]>;
}

function needsOf(objects: readonly Document[], observed: Observed | undefined, reports: Reports): Needs {
  const declared = new Map(objects.map((object) => [object.address, object]));
  const imagesByFingerprint = new Map(
    objects
      .filter((object) => object.kind === 'image')
      .map((image) => [coreKind('image').apiName(image), image.address]),
  );
  const find = (kind: KindName, name: string): Address | undefined => {
    const address: Address = `${kind}/${name}`;
    return declared.has(address) ? address : kind === 'image' ? imagesByFingerprint.get(name) : undefined;
  };
  const scopes = scopesOf(observed, objects);
  const needs = new Map<Address, readonly Address[]>();
  for (const object of objects) {
    const found = new Set<Address>();
    for (const reference of referencesOf(object, observed, scopes)) {
      const address = find(reference.kind, reference.name);
      if (address !== undefined) found.add(address);
      else reports.missing?.(object, reference);
    }
    for (const [index, address] of object.manage.dependsOn.entries()) {
      if (address === object.address) reports.ownDependency?.(object, index);
      else if (declared.has(address)) found.add(address);
      else reports.missingDependency?.(object, address, index, declared);
    }
    needs.set(object.address, found.size === 0 ? noNeeds : [...found].sort());
  }
  return { declared, needs };
}

type SortResult = ReturnType<typeof sortByNeeds>;
/** A cache for the check of a set and its plan. A server does not change these needs. */
const sorted = new WeakMap<readonly Document[], { readonly needs: Needs['needs']; readonly found: SortResult }>();

function sortedOnce(objects: readonly Document[], needs: Needs['needs']): SortResult {
  const known = sorted.get(objects);
  if (known !== undefined && isSameNeeds(known.needs, needs)) return known.found;
  const found = sortByNeeds(objects, needs);
  sorted.set(objects, { needs, found });
  return found;
}

const isSameNeeds = (a: Needs['needs'], b: Needs['needs']): boolean =>
  a.size === b.size && [...a].every(([address, needs]) => isSameList(needs, b.get(address)));

const isSameList = (a: readonly Address[], b: readonly Address[] | undefined): boolean =>
  a === b || (a.length === b?.length && a.every((address, index) => address === b[index]));

function referencesOf(object: Document, observed: Observed | undefined, scopes: Scopes): readonly Reference[] {
  const references = referencesIn(object, scopes);
  const live = object.kind === 'container' ? observed?.containers.get(object.name) : undefined;
  if (live === undefined || object.values['profiles'] !== undefined) return references;
  // The document omits profiles: the container still needs those it has.
  const kept = live.object.profiles.map((name, index): Reference => ({
    kind: 'profile',
    name: scopes.keyOf('profile', name, object.project),
    path: `profiles.${index}`,
    severity: 'warning',
  }));
  return [...references.filter((reference) => reference.path !== 'profiles'), ...kept];
}

function isLive(reference: Reference, observed: Observed | undefined): boolean {
  // Every server has it; it can be neither created nor deleted.
  if (reference.kind === 'profile' && /^default(@|$)/.test(reference.name)) return true;
  if (observed === undefined) return false;
  if (reference.kind === 'network') return observed.networks.has(reference.name);
  if (coreKind(reference.kind).live(observed, reference.name) !== undefined) return true;
  if (reference.kind !== 'image') return false;
  for (const fingerprint of observed.images.keys()) if (fingerprint.startsWith(reference.name)) return true;
  return false;
}

/** An object of another set. Servers know images by their fingerprints, which depends_on may omit. */
function isDependencyLive(address: Address, observed: Observed | undefined): boolean {
  return observed !== undefined && liveAt(observed, address) !== undefined;
}

/** Candidate names for hints, gathered once and only when something is missing. */
class KnownNames {
  readonly #objects: readonly Document[];
  readonly #observed: Observed | undefined;
  readonly #byKind = new Map<KindName, readonly string[]>();
  constructor(objects: readonly Document[], observed: Observed | undefined) {
    this.#objects = objects;
    this.#observed = observed;
  }
  of(kind: KindName): readonly string[] {
    let names = this.#byKind.get(kind);
    if (names === undefined) {
      const live = this.#observed === undefined ? [] : coreKind(kind).liveNames(this.#observed);
      const declared = this.#objects.filter((object) => object.kind === kind).map((object) => object.name);
      names = [...new Set([...declared, ...live, ...(kind === 'profile' ? ['default'] : [])])].sort();
      this.#byKind.set(kind, names);
    }
    return names;
  }
}

function missing(object: Document, reference: Reference, names: KnownNames, isOnline: boolean): Diagnostic {
  const label = kinds[reference.kind].label;
  const where = isOnline ? 'neither declared nor on the server' : 'not declared here; it must exist on the server';
  const known = hint(reference.name, names.of(reference.kind));
  return {
    severity: isOnline ? reference.severity : 'warning',
    code: 'missing-reference',
    address: object.address,
    path: reference.path,
    message: `the ${label} ${reference.name} is ${where}${known}`,
    remedy: `correct the name, or declare \`kind: ${reference.kind}\` with \`name: ${reference.name}\``,
    ...object.location,
  };
}

function missingDependency(
  object: Document,
  address: Address,
  index: number,
  declared: ReadonlyMap<Address, Document>,
  isOnline: boolean,
): Diagnostic {
  const where = isOnline ? 'neither declared nor on the server' : 'not declared here; it must exist on the server';
  return {
    severity: isOnline ? 'error' : 'warning',
    code: 'missing-reference',
    address: object.address,
    path: `manage.depends_on.${index}`,
    message: `${address} is ${where}${hint(address, othersThan(object.address, declared.keys()))}`,
    remedy: 'correct the name, or apply the set that declares it first',
    ...object.location,
  };
}

const othersThan = (address: Address, all: Iterable<Address>): readonly Address[] =>
  [...all].filter((one) => one !== address);

const dependsOnItself = (object: Document, index: number): Diagnostic => ({
  severity: 'error',
  code: 'reference-cycle',
  address: object.address,
  path: `manage.depends_on.${index}`,
  message: `${object.address} depends on itself`,
  remedy: `take ${object.address} out of its manage.depends_on`,
  ...object.location,
});

function circular(cycle: readonly Address[], declared: ReadonlyMap<Address, Document>): Diagnostic {
  const first = cycle[0] as Address;
  const places = cycle.flatMap((address) => {
    const location = declared.get(address)?.location;
    return location === undefined ? [] : [{ message: `${address} is here`, ...location }];
  });
  return {
    severity: 'error',
    code: 'reference-cycle',
    address: first,
    path: '',
    message: `these objects need each other in a circle: ${[...cycle, first].join(' -> ')}`,
    remedy: 'remove one of these references or depends_on lines',
    ...declared.get(first)?.location,
    related: places.slice(1),
  };
}

/** The same documents in an order that also fits further needs, which make no cycle. */
export function sortDocuments(documents: readonly Document[], needs: Needs['needs']): readonly Document[] {
  const byAddress = new Map(documents.map((document) => [document.address, document]));
  return sortByNeeds(documents, needs).order.flatMap((address) => byAddress.get(address) ?? []);
}

/** Depth first without recursion, so that long chains cannot overflow the stack. */
export function sortByNeeds(
  objects: readonly { readonly address: Address }[],
  needs: ReadonlyMap<Address, readonly Address[]>,
): { readonly order: readonly Address[]; readonly cycles: readonly (readonly Address[])[] } {
  const order: Address[] = [];
  const cycles: (readonly Address[])[] = [];
  const state = new Map<Address, 'open' | 'done'>();
  for (const { address } of objects) {
    if (state.has(address)) continue;
    const stack: { readonly address: Address; next: number }[] = [{ address, next: 0 }];
    state.set(address, 'open');
    for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
      const need = needs.get(frame.address)?.[frame.next];
      frame.next += 1;
      if (need === undefined) {
        state.set(frame.address, 'done');
        order.push(frame.address);
        stack.pop();
      } else if (state.get(need) === 'open') {
        const path = stack.map((entry) => entry.address);
        cycles.push(fromSmallest(path.slice(path.indexOf(need))));
      } else if (!state.has(need)) {
        state.set(need, 'open');
        stack.push({ address: need, next: 0 });
      }
    }
  }
  return { order, cycles };
}

/** Begins a cycle at its first address in order, so that its message is always the same. */
function fromSmallest(cycle: readonly Address[]): readonly Address[] {
  const smallest = cycle.reduce((best, address, index) => (address < (cycle[best] ?? '') ? index : best), 0);
  return [...cycle.slice(smallest), ...cycle.slice(0, smallest)];
}
