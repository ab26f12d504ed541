// The layout of the graph: layers follow dependencies, nothing overlaps, and ten thousand nodes take little time.
import { describe, expect, test } from 'vitest';
import { fitted, opened } from '../../../reconciler/web/graph/camera.ts';
import { laneHead, layersOf, layoutGraph, node } from '../../../reconciler/web/graph/layout.ts';
import { seededRandom } from '../../support/random.ts';

const edgesOf = (...pairs: readonly (readonly [number, number])[]): Uint32Array => Uint32Array.from(pairs.flat());
const noGroups = (count: number): Uint16Array => new Uint16Array(count);

describe('the first look', () => {
  const [wide, phone] = [
    { width: 1200, height: 700 },
    { width: 390, height: 500 },
  ];
  /** One root in the middle of many that depend on it, in layers. */
  const layout = layoutGraph({
    count: 60,
    edges: Uint32Array.from(Array.from({ length: 59 }, (_, at) => [at + 1, at < 30 ? 0 : at - 29]).flat()),
    groups: noGroups(60),
  });

  test('shows everything on a wide screen', () => {
    expect(opened(layout, wide)).toEqual(fitted(layout, wide));
  });

  test('the first view on a phone shows the root with readable texts; a small graph is shown whole', () => {
    const { x, y, scale } = opened(layout, phone);
    expect(scale).toBe(1);
    const root = { x: (layout.x[0] ?? 0) - x, y: (layout.y[0] ?? 0) - y };
    expect(root.x).toBeGreaterThan(0);
    expect(root.x + node.width).toBeLessThan(phone.width);
    expect(Math.abs(root.y + node.height / 2 - phone.height / 2)).toBeLessThan(1);
    const small = layoutGraph({ count: 1, edges: edgesOf(), groups: noGroups(1) });
    expect(opened(small, phone)).toEqual(fitted(small, phone));
  });

  test('begins at the top if a phone has no room for all roots', () => {
    const many = layoutGraph({ count: 100, edges: edgesOf(), groups: noGroups(100) });
    const { y } = opened(many, phone);
    expect(y).toBeLessThan(0);
    expect(y).toBeGreaterThan(-phone.height / 4);
  });
});

describe('layoutGraph', () => {
  test('puts each node to the right of its dependencies', () => {
    const edges = edgesOf([1, 0], [2, 1], [3, 0], [3, 2]);
    expect([...layersOf(4, edges)]).toEqual([0, 1, 2, 3]);
    const { x } = layoutGraph({ count: 4, edges, groups: noGroups(4) });
    for (let at = 0; at < edges.length; at += 2)
      expect(x[edges[at] ?? 0]).toBeGreaterThanOrEqual((x[edges[at + 1] ?? 0] ?? 0) + node.width);
  });

  test('terminates for circular dependencies', () => {
    const edges = edgesOf([0, 1], [1, 2], [2, 0], [3, 2]);
    const { x, width } = layoutGraph({ count: 4, edges, groups: noGroups(4) });
    expect([...x].every(Number.isFinite)).toBe(true);
    expect(width).toBeGreaterThan(node.width);
  });

  test('layoutGraph of nothing is empty', () => {
    expect(layoutGraph({ count: 0, edges: edgesOf(), groups: noGroups(0) })).toMatchObject({ width: 0, height: 0 });
  });

  test('keeps ten thousand nodes apart, in a picture that fits a screen', () => {
    const random = seededRandom(3);
    const count = 10_000;
    const pairs: [number, number][] = [];
    for (let id = 100; id < count; id++) {
      pairs.push([id, Math.floor(random.next() * 100)]);
      if (id % 4 === 0) pairs.push([id, Math.floor(random.next() * id)]);
    }
    const layout = layoutGraph({ count, edges: edgesOf(...pairs), groups: noGroups(count) });
    const places = new Set(Array.from(layout.x, (x, id) => `${x} ${layout.y[id]}`));
    expect(places.size).toBe(count);
    expect(layout.width / layout.height).toBeGreaterThan(0.8);
    expect(layout.width / layout.height).toBeLessThan(4);
  });

  test('keeps nodes of one group together within a layer', () => {
    const groups = Uint16Array.from([0, 1, 0, 1, 0, 1, 0]);
    const edges = edgesOf([1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [6, 0]);
    const { y } = layoutGraph({ count: 7, edges, groups });
    const order = [1, 2, 3, 4, 5, 6].sort((a, b) => (y[a] ?? 0) - (y[b] ?? 0)).map((id) => groups[id]);
    expect(order).toEqual([0, 0, 0, 1, 1, 1]);
  });
});

test('lanes are stacked, each laid out separately, with room for its name', () => {
  // Two lanes of a chain of three, in turns; an edge between lanes has no place in either.
  const edges = edgesOf([2, 0], [4, 2], [3, 1], [5, 3], [5, 0]);
  const lanes = Uint16Array.from([0, 1, 0, 1, 0, 1]);
  const { x, y, laneTops, height } = layoutGraph({ count: 6, edges, groups: noGroups(6), lanes });
  const alone = layoutGraph({ count: 3, edges: edgesOf([1, 0], [2, 1]), groups: noGroups(3) });
  expect([x[0], x[2], x[4]]).toEqual([...alone.x]);
  expect([x[1], x[3], x[5]]).toEqual([...alone.x]);
  const [first = 0, second = 0] = laneTops;
  expect(laneTops.length).toBe(2);
  for (const id of [0, 2, 4]) expect((y[id] ?? 0) - first).toBeGreaterThanOrEqual(laneHead);
  for (const id of [0, 2, 4]) expect((y[id] ?? 0) + node.height).toBeLessThan(second);
  for (const id of [1, 3, 5]) expect((y[id] ?? 0) - second).toBeGreaterThanOrEqual(laneHead);
  expect(height).toBeGreaterThan(second + laneHead);
});
