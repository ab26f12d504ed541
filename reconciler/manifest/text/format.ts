// Formats manifest text: keys of a document in the usual order, two spaces, comments kept. The result has the same meaning, or the
// problem says why not.
import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  parseAllDocuments,
  visit,
  type Document as YamlDocument,
  type Pair,
} from 'yaml';
import { duplicateKey, parserProblem, type TextProblem } from './yaml-problems.ts';
import { manifestText } from './yaml-text.ts';

/** Keys that come first and last; all other keys keep their order between them. */
const first = [
  'apiVersion',
  'kind',
  'metadata',
  'name',
  'project',
  'pool',
  'description',
  'driver',
  'type',
  'target',
  'source',
];
const last = ['profiles', 'config', 'member_overrides', 'devices', 'state', 'spec', 'vars', 'labels', 'manage'];

export interface FormatResult {
  readonly text: string;
  /** Absent when the text was formatted. */
  readonly problem?: string;
}

export function formatManifest(text: string): FormatResult {
  const lines = new LineCounter();
  const documents = parse(text, lines);
  const wrong = firstProblem(documents, text);
  if (wrong !== undefined) return { text, problem: worded(wrong, lines) };
  if (documents.length === 0) return { text };
  const before = [meaningOf(documents), commentsOf(documents)];
  for (const document of documents) order(document);
  const parts = documents.map(manifestText);
  const formatted = parts.map((part, index) => (index > 0 && !/^(---|%)/.test(part) ? `---\n${part}` : part)).join('');
  const after = parse(formatted);
  const isSame = meaningOf(after) === before[0] && commentsOf(after) === before[1];
  return isSame ? { text: formatted } : { text, problem: 'formatting it would change its meaning or lose a comment' };
}

/** The library would compare each key with all before it, which takes minutes for tens of thousands. */
const parse = (text: string, lineCounter = new LineCounter()): readonly YamlDocument.Parsed[] => {
  const parsed = parseAllDocuments(text, { prettyErrors: false, uniqueKeys: false, lineCounter });
  return Array.isArray(parsed) ? parsed : [];
};

function firstProblem(documents: readonly YamlDocument.Parsed[], text: string): TextProblem | undefined {
  for (const document of documents) {
    const [error] = document.errors;
    if (error !== undefined) return parserProblem(error, document, text);
    const twice = keyWrittenTwice(document);
    if (twice !== undefined) return duplicateKey(twice, text);
  }
  return undefined;
}

/** The offset of a key that its map has before. */
function keyWrittenTwice(document: YamlDocument.Parsed): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) {
          offset = key.range?.[0] ?? 0;
          return visit.BREAK;
        }
        seen.add(key.value);
      }
      return undefined;
    },
  });
  return offset;
}

function worded({ message, remedy, offset }: TextProblem, lines: LineCounter): string {
  const { line, col } = lines.linePos(offset);
  return `${message} (line ${line}, column ${col})${remedy === undefined ? '' : `: ${remedy}`}`;
}

/** An alias has to come after its anchor. */
function order({ contents }: YamlDocument.Parsed): void {
  if (!isMap(contents) || !contents.has('kind') || hasAlias(contents)) return;
  const kind: unknown = contents.get('kind');
  // Settings for all hosts come before the hosts.
  if (kind === 'hosts') return;
  const items: readonly Pair[] = contents.items;
  const sorted = items
    .map((pair, index) => ({ pair, index, rank: rankOf(pair) }))
    .sort((a, b) => a.rank - b.rank || a.index - b.index)
    .map(({ pair }) => pair);
  if (sorted.every((pair, index) => pair === items[index])) return;
  // A key that moves to the top loses the empty line before it.
  const [head] = sorted;
  if (isNode(head?.key)) head.key.spaceBefore = false;
  contents.items = sorted as typeof contents.items;
}

function rankOf({ key }: Pair): number {
  const name = isScalar(key) ? String(key.value) : '';
  const [early, late] = [first.indexOf(name), last.indexOf(name)];
  return early >= 0 ? early : late >= 0 ? first.length + 1 + late : first.length;
}

function hasAlias(node: NonNullable<YamlDocument['contents']>): boolean {
  let found = false;
  visit(node, (_, one) => {
    found ||= isAlias(one);
  });
  return found;
}

/** Sorts keys, since formatting may change their order. */
const meaningOf = (documents: readonly YamlDocument.Parsed[]): string =>
  JSON.stringify(
    documents.map((document) => document.toJS() as unknown),
    (_, value: unknown) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
  );

/** The words of all comments, regardless of their places. */
function commentsOf(documents: readonly YamlDocument.Parsed[]): string {
  const found: string[] = [];
  const add = (comment: string | null | undefined): void => {
    for (const line of comment?.split('\n') ?? []) if (line.trim() !== '') found.push(line.trim());
  };
  for (const document of documents) {
    add(document.commentBefore);
    add(document.comment);
    visit(document, (_, node) => {
      if (!isNode(node)) return;
      add(node.commentBefore);
      add(node.comment);
    });
  }
  return found.sort().join('\n');
}
