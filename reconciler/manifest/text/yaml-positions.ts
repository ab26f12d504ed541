// Finds the place in the YAML text where a dotted path is written.
import { isAlias, isMap, isScalar, isSeq, type Document as YamlDocument, type Node, type Pair } from 'yaml';

export interface TextSpan {
  readonly offset: number;
  readonly length: number;
}

/** Keys may contain dots (`limits.memory`): the longest matching key wins. */
export function nodeAt(document: YamlDocument, root: Node, path: string, part: 'key' | 'value'): TextSpan {
  const direct = walk(document, root, path, part);
  if (direct.isWhole || path === '') return direct.place;
  // The envelope form keeps the same keys one level down.
  for (const prefix of ['spec', 'metadata']) {
    const inner = walk(document, root, `${prefix}.${path}`, part);
    if (inner.isWhole || inner.depth > direct.depth + 1) return inner.place;
  }
  return direct.place;
}

interface NodeMatch {
  readonly place: TextSpan;
  readonly isWhole: boolean;
  readonly depth: number;
}

function walk(document: YamlDocument, root: Node, path: string, part: 'key' | 'value'): NodeMatch {
  let node: unknown = root;
  let key: unknown;
  let rest = path;
  let depth = 0;
  while (rest !== '') {
    if (isAlias(node)) node = node.resolve(document);
    const step = isMap(node) ? inMap(node.items, rest) : isSeq(node) ? inSequence(node.items, rest) : undefined;
    if (step === undefined) break;
    ({ key, node, rest } = step);
    depth += 1;
  }
  const isScalarValue = isScalar(node) || isAlias(node);
  const shown = part === 'key' || !isScalarValue ? (key ?? firstOf(node)) : node;
  return { place: placeOf(shown ?? key ?? node), isWhole: rest === '', depth };
}

interface Step {
  readonly key: unknown;
  readonly node: unknown;
  readonly rest: string;
}

function inMap(items: readonly Pair[], path: string): Step | undefined {
  let best: Step | undefined;
  let bestLength = -1;
  for (const { key, value } of items) {
    const name = isScalar(key) ? String(key.source ?? key.value) : '';
    if (name.length <= bestLength || !(path === name || path.startsWith(`${name}.`))) continue;
    best = { key, node: value, rest: path.slice(name.length + 1) };
    bestLength = name.length;
  }
  return best;
}

function inSequence(items: readonly unknown[], path: string): Step | undefined {
  const [first = '', ...others] = path.split('.');
  const item = /^[0-9]+$/.test(first) ? items[Number(first)] : undefined;
  return item === undefined ? undefined : { key: undefined, node: item, rest: others.join('.') };
}

const firstOf = (node: unknown): unknown => (isMap(node) ? (node.items[0]?.key ?? node) : node);

function placeOf(node: unknown): TextSpan {
  const range = (node as Node | undefined)?.range;
  return range === undefined || range === null
    ? { offset: 0, length: 1 }
    : { offset: range[0], length: Math.max(1, range[1] - range[0]) };
}
