// The results of a run: rows of samples, and the table with medians, ratios, targets and missed targets. Measures nothing.

/** `x`: a multiple of another row. */
export type Unit = 'ms' | '/s' | 'MB' | 'x' | 'calls' | '%';

export interface Row {
  readonly group: string;
  readonly what: string;
  readonly unit: Unit;
  /** Required factor against LXD. */
  readonly timesLxd?: number;
  /** Absolute limit for every server of ours. */
  readonly atMost?: number;
  readonly atLeast?: number;
  /** Server name to its samples. */
  readonly samples: Readonly<Record<string, readonly number[]>>;
}

export const lxdName = 'lxd';

export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** The least disturbed sample: the shortest time, the highest rate. */
export function best(row: Row, samples: readonly number[]): number {
  return row.unit === '/s' || row.unit === 'x' ? Math.max(...samples) : Math.min(...samples);
}

/** The factor by which the median of a server is better than that of LXD. */
export function ratio(row: Row, server: string): number | undefined {
  const [ours, theirs] = [row.samples[server], row.samples[lxdName]];
  if (ours === undefined || theirs === undefined || server === lxdName) return undefined;
  return row.unit === '/s' ? median(ours) / median(theirs) : median(theirs) / median(ours);
}

export type Verdict = 'met' | 'MISSED' | 'not compared' | '';

export function verdict(row: Row, server: string): Verdict {
  const samples = row.samples[server];
  if (samples === undefined || server === lxdName) return '';
  if (row.atMost !== undefined) return median(samples) <= row.atMost ? 'met' : 'MISSED';
  if (row.atLeast !== undefined) return median(samples) >= row.atLeast ? 'met' : 'MISSED';
  if (row.timesLxd === undefined) return '';
  const times = ratio(row, server);
  if (times === undefined) return 'not compared';
  return times >= row.timesLxd ? 'met' : 'MISSED';
}

const digits = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);

function targetText(row: Row): string {
  if (row.atMost !== undefined) return `<= ${row.atMost} ${row.unit}`;
  if (row.atLeast !== undefined) return `>= ${row.atLeast} ${row.unit}`;
  return row.timesLxd === undefined ? '' : `${row.timesLxd}x LXD`;
}

/** A Markdown table: a line for each row and server. */
export function table(rows: readonly Row[]): string {
  const lines = rows.flatMap((row) =>
    Object.entries(row.samples).map(([server, samples]) => {
      const times = ratio(row, server);
      return [
        row.what,
        server,
        `${digits(median(samples))} ${row.unit}`,
        `${digits(best(row, samples))} ${row.unit}`,
        String(samples.length),
        times === undefined ? '' : `${digits(times)}x`,
        server === lxdName ? '' : targetText(row),
        verdict(row, server),
      ];
    }),
  );
  return render([['what', 'server', 'median', 'best', 'n', 'ratio', 'target', 'verdict'], ...lines]);
}

/** A Markdown table; the first line is its header. */
export function render(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const text = lines.map((line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`);
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [text[0], rule, ...text.slice(1)].join('\n');
}

/** One sentence for each missed target. */
export function misses(rows: readonly Row[]): readonly string[] {
  return rows.flatMap((row) =>
    Object.entries(row.samples)
      .filter(([server]) => verdict(row, server) === 'MISSED')
      .map(([server, samples]) => {
        const times = ratio(row, server);
        const found = times === undefined ? '' : ` (${digits(times)}x LXD)`;
        return `${row.what} on ${server}: ${digits(median(samples))} ${row.unit}${found}, target ${targetText(row)}`;
      }),
  );
}
