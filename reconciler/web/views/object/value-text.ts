// Values as people write them in manifests: YAML in short, with quotes only where needed. Text only, never markup.

/** A value as lines of text. */
export function valueText(value: unknown, indent = ''): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return value.map((item: unknown) => `${indent}- ${nested(item, indent)}`).join('\n');
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (entries.length === 0) return '{}';
    return entries.map(([key, item]) => `${indent}${key}:${below(item, indent)}`).join('\n');
  }
  return scalar(value);
}

const isNested = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;

const nested = (item: unknown, indent: string): string =>
  isNested(item) ? valueText(item, `${indent}  `).trimStart() : valueText(item);
const below = (item: unknown, indent: string): string =>
  isNested(item) ? `\n${valueText(item, `${indent}  `)}` : ` ${valueText(item)}`;

function scalar(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null';
  const isPlain =
    /^[\p{L}\p{N}_/.][\p{L}\p{N} _/.,:@=+-]*$/u.test(value) &&
    !/^(true|false|null|yes|no)$|^[\d.:_-]+$|: |[\s:]$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}

/** Lines of both texts, paired: `side` says where a line is. A longest common subsequence, for texts of some hundred lines. */
export interface DiffLine {
  readonly side: 'both' | 'desired' | 'live';
  readonly text: string;
}

const maxCells = 4_000_000;

export function diffLines(desired: readonly string[], live: readonly string[]): readonly DiffLine[] {
  if (desired.length * live.length > maxCells) {
    return [
      ...live.map((text) => ({ side: 'live' as const, text })),
      ...desired.map((text) => ({ side: 'desired' as const, text })),
    ];
  }
  const width = live.length + 1;
  const lengths = new Uint32Array((desired.length + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  for (let row = desired.length - 1; row >= 0; row--) {
    for (let column = live.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        desired[row] === live[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const lines: DiffLine[] = [];
  let row = 0;
  let column = 0;
  while (row < desired.length || column < live.length) {
    const left = desired[row];
    const right = live[column];
    if (left !== undefined && left === right) {
      lines.push({ side: 'both', text: left });
      row++;
      column++;
    } else if (left === undefined || (right !== undefined && at(row, column + 1) >= at(row + 1, column))) {
      lines.push({ side: 'live', text: right ?? '' });
      column++;
    } else {
      lines.push({ side: 'desired', text: left });
      row++;
    }
  }
  return lines;
}
