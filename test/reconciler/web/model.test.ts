// The nodes of the graph: objects, or groups of them if there are too many to read.
import { describe, expect, test } from 'vitest';
import type { ObjectStatusName } from '../../../reconciler/controller/contract/index.ts';
import type { Entry } from '../../../reconciler/web/data/entry.ts';
import { facesOf, graphOf, groupingFor, worstMember } from '../../../reconciler/web/graph/model.ts';

function entry(host: string, kind: string, name: string, status: ObjectStatusName, dependsOn: string[] = []): Entry {
  const address = `${kind}/${name}`;
  return { key: `${host} ${address}`, object: { host, address, kind, name, status, dependsOn }, text: '' };
}

const world = [
  entry('h1', 'network', 'lan', 'synced'),
  entry('h1', 'container', 'web', 'drifted', ['network/lan']),
  entry('h2', 'network', 'lan', 'synced'),
  entry('h2', 'container', 'web', 'failed', ['network/lan', 'profile/gone']),
];
const every = (): boolean => true;

describe('the graph', () => {
  test('has one node for a name on all hosts, in the worst status of them', () => {
    const graph = graphOf(world, every, 'name');
    expect(graph.keys).toEqual(['network/lan', 'container/web']);
    expect([...graph.input.edges]).toEqual([1, 0]);
    expect(facesOf(graph, world)).toEqual({
      statuses: ['synced', 'failed'],
      notes: ['network · 2 hosts', 'container · 2 hosts, 2 apart'],
    });
    expect(worstMember(graph, world, 1)?.key).toBe('h2 container/web');
  });

  test('has edges between the objects of one host only when each object is a node', () => {
    const graph = graphOf(world, every, 'object');
    expect([...graph.input.edges]).toEqual([1, 0, 3, 2]);
    expect(facesOf(graph, world).notes[3]).toBe('container · h2');
  });

  test('has no edge within a group', () => {
    const graph = graphOf(world, every, 'host');
    expect([graph.titles, [...graph.input.edges]]).toEqual([['h1', 'h2'], []]);
    expect(facesOf(graph, world).notes).toEqual(['2 objects, 1 apart', '2 objects, 1 apart']);
  });

  test('omits filtered objects and references to them', () => {
    const graph = graphOf(world, ({ object }) => object.kind === 'container' && object.host === 'h1', 'object');
    expect([graph.keys, [...graph.input.edges]]).toEqual([['h1 container/web'], []]);
  });
});

describe('the automatic choice of nodes', () => {
  const many = (hosts: number, names: number): Entry[] =>
    Array.from({ length: hosts * names }, (_none, at) =>
      entry(`h${at % hosts}`, 'container', `c${Math.floor(at / hosts)}`, 'synced'),
    );

  test.each([
    ['few objects of one host', many(1, 50), [], 'object'],
    ['the same names on many hosts', many(100, 50), [], 'name'],
    ['more names than can be read', many(3, 1000), [], 'kind'],
    ['one kind of them', many(3, 1000), ['kind'], 'host'],
    ['one kind on one host', many(1, 1000), ['kind', 'host'], 'status'],
    ['no group that is left', many(1, 1000), ['kind', 'host', 'status'], 'object'],
  ] as const)('for %s', (_what, entries, narrowed, grouping) => {
    expect(groupingFor(entries, new Set(narrowed))).toBe(grouping);
  });
});
