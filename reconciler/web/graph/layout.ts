// Positions of the nodes of a graph: layers from left to right by dependency, wide layers folded into columns. Pure, so that a
// worker can run it in the background.

export interface LayoutInput {
  readonly count: number;
  /** Pairs: a node, and one that it depends on. */
  readonly edges: Uint32Array;
  /** Nodes of one layer stand together by this. */
  readonly groups: Uint16Array;
  /** Nodes of one lane stand below those of the lane before. */
  readonly lanes?: Uint16Array;
}

export interface Layout {
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly width: number;
  readonly height: number;
  /** Where each lane begins, with the room for its name. */
  readonly laneTops: readonly number[];
}

export const node = { width: 184, height: 40, gapX: 56, gapY: 12, layerGap: 64 } as const;
export const laneHead = 44;
const laneGap = 28;
/** Width of the whole picture for one of its height. */
const shape = 1.6;
const sweeps = 4;
const fewestRows = 8;

export function layoutGraph(input: LayoutInput): Layout {
  const { count, edges, groups, lanes } = input;
  if (lanes !== undefined) return layoutLanes(input, lanes);
  const layers = nodesByLayer(count, layersOf(count, edges), edges);
  orderLayers(layers, count, edges, groups);
  return placed(layers, count);
}

/** Each lane is laid out alone, since dependencies do not leave their host. */
function layoutLanes({ count, edges, groups }: LayoutInput, lanes: Uint16Array): Layout {
  const members: number[][] = [];
  const place = new Uint32Array(count);
  for (let id = 0; id < count; id++) place[id] = (members[lanes[id] ?? 0] ??= []).push(id) - 1;
  const inside: number[][] = members.map(() => []);
  for (let at = 0; at < edges.length; at += 2) {
    const [from = 0, to = 0] = [edges[at], edges[at + 1]];
    if (lanes[from] === lanes[to]) inside[lanes[from] ?? 0]?.push(place[from] ?? 0, place[to] ?? 0);
  }
  const [x, y] = [new Float32Array(count), new Float32Array(count)];
  const laneTops: number[] = [];
  let [width, top] = [0, 0];
  for (const [lane, ids] of members.entries()) {
    const own = layoutGraph({
      count: ids.length,
      edges: Uint32Array.from(inside[lane] ?? []),
      groups: Uint16Array.from(ids, (id) => groups[id] ?? 0),
    });
    laneTops.push(top);
    for (const [at, id] of ids.entries()) {
      x[id] = own.x[at] ?? 0;
      y[id] = (own.y[at] ?? 0) + top + laneHead;
    }
    width = Math.max(width, own.width);
    top += laneHead + own.height + laneGap;
  }
  return { x, y, width, height: Math.max(0, top - laneGap), laneTops };
}

/** The length of the longest path from a node without dependencies. Nodes of a cycle stay in the layer where the cycle was entered. */
export function layersOf(count: number, edges: Uint32Array): Uint32Array {
  const layer = new Uint32Array(count);
  const open = new Uint32Array(count);
  const dependents = lists(count, edges, 1, 0);
  for (let at = 0; at < edges.length; at += 2) add(open, edges[at] ?? 0, 1);
  const ready: number[] = [];
  const isDone = new Uint8Array(count);
  for (let id = 0; id < count; id++) if (open[id] === 0) ready.push(id);
  let circle = 0;
  for (let at = 0; at < count; at++) {
    let id = ready[at];
    if (id === undefined) {
      while (isDone[circle] === 1) circle++;
      id = circle;
      ready.push(id);
    }
    isDone[id] = 1;
    for (const dependent of dependents(id)) {
      if (isDone[dependent] === 1) continue;
      layer[dependent] = Math.max(layer[dependent] ?? 0, (layer[id] ?? 0) + 1);
      add(open, dependent, -1);
      if (open[dependent] === 0) ready.push(dependent);
    }
  }
  return layer;
}

/** The neighbours of each node: `from` and `to` say which end of a pair is the node and which the neighbour. */
export function lists(count: number, edges: Uint32Array, from: 0 | 1, to: 0 | 1): (id: number) => Uint32Array {
  const starts = new Uint32Array(count + 1);
  for (let at = 0; at < edges.length; at += 2) add(starts, (edges[at + from] ?? 0) + 1, 1);
  for (let id = 0; id < count; id++) add(starts, id + 1, starts[id] ?? 0);
  const next = starts.slice();
  const all = new Uint32Array(edges.length / 2);
  for (let at = 0; at < edges.length; at += 2) {
    const id = edges[at + from] ?? 0;
    all[next[id] ?? 0] = edges[at + to] ?? 0;
    add(next, id, 1);
  }
  return (id) => all.subarray(starts[id], starts[id + 1]);
}

function add(numbers: Uint32Array, at: number, amount: number): void {
  numbers[at] = (numbers[at] ?? 0) + amount;
}

/** Nodes without any edge come after all others, where they do not hide the roots. */
function nodesByLayer(count: number, layer: Uint32Array, edges: Uint32Array): number[][] {
  const isTied = new Uint8Array(count);
  for (const end of edges) isTied[end] = 1;
  const layers: number[][] = [];
  const alone: number[] = [];
  for (let id = 0; id < count; id++) {
    if (isTied[id] === 0) alone.push(id);
    else (layers[layer[id] ?? 0] ??= []).push(id);
  }
  return [...layers, alone].filter((ids) => ids !== undefined && ids.length > 0);
}

/** Each node goes to the middle of what it depends on, then of what depends on it; groups stay together. */
function orderLayers(layers: number[][], count: number, edges: Uint32Array, groups: Uint16Array): void {
  const dependencies = lists(count, edges, 0, 1);
  const dependents = lists(count, edges, 1, 0);
  const rank = new Float32Array(count);
  const number = (ids: readonly number[]): void => {
    for (const [at, id] of ids.entries()) rank[id] = at / ids.length;
  };
  const byGroup = (a: number, b: number): number => (groups[a] ?? 0) - (groups[b] ?? 0);
  for (const ids of layers) {
    ids.sort((a, b) => byGroup(a, b) || a - b);
    number(ids);
  }
  const middle = new Float32Array(count);
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const isForward = sweep % 2 === 0;
    const neighbours = isForward ? dependencies : dependents;
    for (const ids of isForward ? layers : layers.toReversed()) {
      for (const id of ids) {
        const near = neighbours(id);
        let sum = 0;
        for (const each of near) sum += rank[each] ?? 0;
        middle[id] = near.length === 0 ? (rank[id] ?? 0) : sum / near.length;
      }
      ids.sort((a, b) => byGroup(a, b) || (middle[a] ?? 0) - (middle[b] ?? 0) || a - b);
      number(ids);
    }
  }
}

function placed(layers: readonly (readonly number[])[], count: number): Layout {
  const stepX = node.width + node.gapX;
  const stepY = node.height + node.gapY;
  const max = Math.max(fewestRows, Math.ceil(Math.sqrt((count * stepX) / (shape * stepY))));
  const tallest = Math.min(max, Math.max(0, ...layers.map(({ length }) => length)));
  const x = new Float32Array(count);
  const y = new Float32Array(count);
  let left = 0;
  for (const ids of layers) {
    const columns = Math.ceil(ids.length / max);
    const rows = Math.ceil(ids.length / columns);
    const top = ((tallest - rows) * stepY) / 2;
    for (const [at, id] of ids.entries()) {
      x[id] = left + Math.floor(at / rows) * stepX;
      y[id] = top + (at % rows) * stepY;
    }
    left += columns * stepX + node.layerGap;
  }
  const width = Math.max(0, left - node.gapX - node.layerGap);
  return { x, y, width, height: Math.max(0, tallest * stepY - node.gapY), laneTops: [] };
}
