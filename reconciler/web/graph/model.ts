// The objects of a host as a graph: nodes by number, edges as pairs of numbers.
import type { ObjectStatusName } from '../../controller/http/contract.ts';
import type { Entry } from '../data/objects.ts';
import { lists, type LayoutInput } from './layout.ts';

export interface Graph {
  /** Places in the list of entries, in the order of nodes. */
  readonly places: readonly number[];
  readonly keys: readonly string[];
  readonly titles: readonly string[];
  readonly kinds: readonly string[];
  readonly input: LayoutInput;
  readonly dependencies: (id: number) => Uint32Array;
  readonly dependents: (id: number) => Uint32Array;
}

/** `host` empty: all hosts. References to objects that are not there are left out. */
export function graphOf(entries: readonly Entry[], host: string): Graph {
  const places: number[] = [];
  for (const [at, { object }] of entries.entries()) if (host === '' || object.host === host) places.push(at);
  const nodes = places.map((at) => entries[at]).filter((entry): entry is Entry => entry !== undefined);
  const numbers = new Map(nodes.map(({ key }, id) => [key, id]));
  const kindNames = [...new Set(nodes.map(({ object }) => object.kind))].sort();
  const pairs: number[] = [];
  for (const [id, { object }] of nodes.entries()) {
    for (const address of object.dependsOn) {
      const other = numbers.get(`${object.host} ${address}`);
      if (other !== undefined && other !== id) pairs.push(id, other);
    }
  }
  const edges = Uint32Array.from(pairs);
  return {
    places,
    keys: nodes.map(({ key }) => key),
    titles: nodes.map(({ object }) => object.name),
    kinds: nodes.map(({ object }) => (host === '' ? `${object.kind} · ${object.host}` : object.kind)),
    input: {
      count: nodes.length,
      edges,
      groups: Uint16Array.from(nodes, ({ object }) => kindNames.indexOf(object.kind)),
    },
    dependencies: lists(nodes.length, edges, 0, 1),
    dependents: lists(nodes.length, edges, 1, 0),
  };
}

export const statusesOf = (graph: Graph, entries: readonly Entry[]): readonly ObjectStatusName[] =>
  graph.places.map((at) => entries[at]?.object.status ?? 'unknown');
