// The dependency graph of a set of documents as Mermaid or DOT. Pure.
import type { Address, Document } from '../documents/document.ts';
import { buildGraph } from '../graph/graph.ts';
import { normalizeDocuments } from '../graph/normalize.ts';
import { printable } from '../text/terminal-text.ts';
import { wavesOf } from '../graph/waves.ts';

export interface GraphInput {
  readonly documents: readonly Document[];
}

interface Edges {
  readonly nodes: readonly Address[];
  /** The waves with their nodes, lowest first; empty when there is only one. */
  readonly waves: readonly (readonly [wave: number, nodes: readonly Address[]])[];
  readonly edges: readonly (readonly [from: Address, to: Address])[];
}

/** An arrow points at the dependency. */
function edgesOf({ documents }: GraphInput): Edges {
  const { objects } = normalizeDocuments(documents);
  const { needs, order } = buildGraph(objects, undefined);
  const nodes = order.map(({ address }) => address);
  const waves = wavesOf(objects, needs);
  const numbers = [...new Set(nodes.map((node) => waves.get(node) ?? 0))].sort((a, b) => a - b);
  const grouped = numbers.map((wave) => [wave, nodes.filter((node) => (waves.get(node) ?? 0) === wave)] as const);
  return {
    nodes,
    waves: numbers.length < 2 ? [] : grouped,
    edges: nodes.flatMap((from) => (needs.get(from) ?? []).map((to) => [from, to] as const)),
  };
}

export function graphMermaid(input: GraphInput): string {
  const { nodes, edges, waves } = edgesOf(input);
  const ids = new Map(nodes.map((address, index) => [address, `n${index}`]));
  const label = (text: string): string =>
    printable(text).replaceAll('#', '#35;').replaceAll('"', '#quot;').replaceAll('<', '#lt;').replaceAll('>', '#gt;');
  const lines = nodes.map((address) => `  ${ids.get(address) ?? ''}["${label(address)}"]`);
  const arrows = edges.map(([from, to]) => `  ${ids.get(from) ?? ''} --> ${ids.get(to) ?? ''}`);
  const groups = waves.flatMap(([wave, of], index) => [
    `  subgraph w${index}["wave ${wave}"]`,
    ...of.map((address) => `    ${ids.get(address) ?? ''}`),
    '  end',
  ]);
  return `${['graph LR', ...lines, ...groups, ...arrows].join('\n')}\n`;
}

export function graphDot(input: GraphInput): string {
  const { nodes, edges, waves } = edgesOf(input);
  const quoted = (text: string): string =>
    `"${printable(text)
      .replaceAll('\\', '\\\\')
      .replaceAll('"', String.raw`\"`)}"`;
  const lines = nodes.map((address) => `  ${quoted(address)};`);
  const arrows = edges.map(([from, to]) => `  ${quoted(from)} -> ${quoted(to)};`);
  const groups = waves.map(
    ([wave, of], index) =>
      `  subgraph cluster_${index} { label = "wave ${wave}"; ${of.map((address) => `${quoted(address)};`).join(' ')} }`,
  );
  return `${['digraph gantry {', '  rankdir = "LR";', '  node [shape = "rect"];', ...lines, ...groups, ...arrows, '}'].join('\n')}\n`;
}
