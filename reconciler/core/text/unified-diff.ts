// The differences of two texts as a unified diff, as `diff -u` writes it. Pure.

const around = 3;

/** Empty when the texts are equal. Without the two lines that name the files. */
export function unifiedDiff(before: string, after: string): string {
  const [a, b] = [linesOf(before), linesOf(after)];
  const edits = editsOf(a, b);
  if (edits.every(({ sign }) => sign === ' ')) return '';
  return hunksOf(edits).map(renderHunk).join('');
}

const linesOf = (text: string): readonly string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

interface Edit {
  readonly sign: ' ' | '-' | '+';
  readonly line: string;
}

/** The longest common subsequence of the lines between equal beginnings and ends. Very long parts are replaced as a whole. */
const maxCells = 4_000_000;

function editsOf(a: readonly string[], b: readonly string[]): readonly Edit[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail])
    tail += 1;
  const same = (line: string): Edit => ({ sign: ' ', line });
  const middle = between(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  return [...a.slice(0, head).map(same), ...middle, ...a.slice(a.length - tail).map(same)];
}

function between(a: readonly string[], b: readonly string[]): readonly Edit[] {
  const removed = (line: string): Edit => ({ sign: '-', line });
  const added = (line: string): Edit => ({ sign: '+', line });
  if (a.length * b.length > maxCells) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const edits: Edit[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      edits.push({ sign: ' ', line: a[i] ?? '' });
      [i, j] = [i + 1, j + 1];
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      edits.push(removed(a[i] ?? ''));
      i += 1;
    } else {
      edits.push(added(b[j] ?? ''));
      j += 1;
    }
  }
  return edits;
}

interface Hunk {
  /** 0-based line numbers where it begins. */
  readonly before: number;
  readonly after: number;
  readonly edits: readonly Edit[];
}

function hunksOf(edits: readonly Edit[]): readonly Hunk[] {
  const changed = edits.flatMap(({ sign }, index) => (sign === ' ' ? [] : [index]));
  const ranges: [number, number][] = [];
  for (const index of changed) {
    const last = ranges.at(-1);
    if (last !== undefined && index - last[1] <= 2 * around) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([first, last]) => {
    const from = Math.max(0, first - around);
    const count = (sign: '-' | '+'): number => edits.slice(0, from).filter((edit) => edit.sign !== sign).length;
    return { before: count('+'), after: count('-'), edits: edits.slice(from, last + around + 1) };
  });
}

function renderHunk({ before, after, edits }: Hunk): string {
  const range = (start: number, other: '-' | '+'): string => {
    const count = edits.filter(({ sign }) => sign !== other).length;
    return `${count === 0 ? start : start + 1}${count === 1 ? '' : `,${count}`}`;
  };
  const lines = edits.map(({ sign, line }) => `${sign}${line}\n`).join('');
  return `@@ -${range(before, '+')} +${range(after, '-')} @@\n${lines}`;
}
