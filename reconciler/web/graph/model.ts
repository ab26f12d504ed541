// The objects of a set as a graph: nodes by number, each one object or a group of them, edges as pairs of numbers. Pure.
import type { ObjectStatusName } from '../../controller/contract/index.ts';
import type { Entry } from '../data/entry.ts';
import { statusNames } from '../data/status-names.ts';
import { lists, type LayoutInput } from './layout.ts';

/** What one node stands for: `name` is one object on all the hosts that have it; `lane` is one object, each host in a lane. */
export const groupings = ['object', 'lane', 'name', 'kind', 'host', 'status'] as const;
export type Grouping = (typeof groupings)[number];

export interface Graph {
  readonly grouping: Grouping;
  readonly keys: readonly string[];
  readonly titles: readonly string[];
  /** The objects of each node, as indexes into the list of entries. */
  readonly members: readonly (readonly number[])[];
  /** Names of the lanes of the input. */
  readonly lanes: readonly string[];
  readonly input: LayoutInput;
  readonly dependencies: (id: number) => Uint32Array;
  readonly dependents: (id: number) => Uint32Array;
}

/** The current look of each node, which changes with every batch of events. */
export interface NodeFaces {
  /** The worst of its objects. */
  readonly statuses: readonly ObjectStatusName[];
  /** The second line of a node. */
  readonly notes: readonly string[];
}

/** The most nodes whose names are large enough to read when all are visible. */
const maxReadable = 60;

/** The finest grouping with few enough nodes; `narrowed`: the groupings that the filter has already reduced to one value. */
export function groupingFor(entries: readonly Entry[], narrowed: ReadonlySet<string>): Grouping {
  if (new Set(entries.map(({ object }) => object.host)).size <= 1 && entries.length <= maxReadable) return 'object';
  if (new Set(entries.map(({ object }) => object.address)).size <= maxReadable) return 'name';
  return (['kind', 'host', 'status'] as const).find((each) => !narrowed.has(each)) ?? 'object';
}

/** Leaves out references to missing objects and within one node. */
export function graphOf(entries: readonly Entry[], isShown: (entry: Entry) => boolean, grouping: Grouping): Graph {
  const numbers = new Map<string, number>();
  const members: number[][] = [];
  const nodeOfObject = new Map<string, number>();
  for (const [at, entry] of entries.entries()) {
    if (!isShown(entry)) continue;
    const key = nodeKey(entry, grouping);
    let id = numbers.get(key);
    if (id === undefined) {
      id = members.length;
      numbers.set(key, id);
      members.push([]);
    }
    members[id]?.push(at);
    nodeOfObject.set(entry.key, id);
  }
  const edges = edgesOf(entries, members, nodeOfObject);
  const firsts = members.map(([at]) => entries[at ?? -1]?.object);
  const lanes = grouping === 'lane' ? [...new Set(firsts.map((object) => object?.host ?? ''))].sort(byNumber) : [];
  const kindNames = [...new Set(firsts.map((object) => object?.kind ?? ''))].sort();
  return {
    grouping,
    keys: [...numbers.keys()],
    titles: [...numbers.keys()].map((key, id) => (isObject(grouping) ? (firsts[id]?.name ?? key) : key)),
    members,
    lanes,
    input: {
      count: members.length,
      edges,
      groups: Uint16Array.from(firsts, (object) => kindNames.indexOf(object?.kind ?? '')),
      ...(lanes.length > 0 && { lanes: Uint16Array.from(firsts, (object) => lanes.indexOf(object?.host ?? '')) }),
    },
    dependencies: lists(members.length, edges, 0, 1),
    dependents: lists(members.length, edges, 1, 0),
  };
}

/** A node is one object, or the same one on several hosts. */
export const isObject = (grouping: Grouping): boolean =>
  grouping === 'object' || grouping === 'lane' || grouping === 'name';

const byNumber = (one: string, other: string): number => one.localeCompare(other, 'en', { numeric: true });

function nodeKey({ key, object }: Entry, grouping: Grouping): string {
  return grouping === 'object' || grouping === 'lane' ? key : grouping === 'name' ? object.address : object[grouping];
}

function edgesOf(
  entries: readonly Entry[],
  members: readonly (readonly number[])[],
  nodeOfObject: ReadonlyMap<string, number>,
): Uint32Array {
  const pairs: number[] = [];
  for (const [id, places] of members.entries()) {
    const others = new Set<number>();
    for (const at of places) {
      const object = entries[at]?.object;
      for (const address of object?.dependsOn ?? []) {
        const other = nodeOfObject.get(`${object?.host} ${address}`);
        if (other !== undefined && other !== id) others.add(other);
      }
    }
    for (const other of others) pairs.push(id, other);
  }
  return Uint32Array.from(pairs);
}

export function facesOf({ grouping, members }: Graph, entries: readonly Entry[]): NodeFaces {
  const statuses: ObjectStatusName[] = [];
  const notes: string[] = [];
  for (const places of members) {
    let [worst, apart] = [statusNames.length, 0];
    for (const at of places) {
      const rank = statusNames.indexOf(entries[at]?.object.status ?? 'unknown');
      worst = Math.min(worst, rank);
      if (statusNames[rank] !== 'synced' && statusNames[rank] !== 'undeclared') apart += 1;
    }
    statuses.push(statusNames[worst] ?? 'unknown');
    notes.push(noteOf(grouping, places, entries, apart));
  }
  return { statuses, notes };
}

function noteOf(grouping: Grouping, places: readonly number[], entries: readonly Entry[], apart: number): string {
  const object = entries[places[0] ?? -1]?.object;
  if (object === undefined) return '';
  if (grouping === 'lane') return object.kind;
  if (grouping === 'object' || (grouping === 'name' && places.length === 1)) return `${object.kind} · ${object.host}`;
  const differing = apart === 0 ? '' : `, ${apart.toLocaleString('en')} apart`;
  if (grouping === 'name') return `${object.kind} · ${places.length} hosts${differing}`;
  return `${places.length.toLocaleString('en')} object${places.length === 1 ? '' : 's'}${differing}`;
}

/** The object of a node that a person wants to see first: the one in the worst status. */
export function worstMember({ members }: Graph, entries: readonly Entry[], id: number): Entry | undefined {
  const shown = (members[id] ?? []).flatMap((at) => entries[at] ?? []);
  const rank = ({ object }: Entry): number => statusNames.indexOf(object.status);
  return shown.toSorted((one, other) => rank(one) - rank(other))[0];
}
