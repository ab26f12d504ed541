// The figures of fault suites as a Markdown table, and the failures. Pure.
import type { Figures } from './suite.ts';

export interface SuiteFigures extends Figures {
  readonly suite: string;
}

const header = ['suite', 'what', 'rounds', 'acknowledged', 'lost', 'orphans'] as const;

export function figuresTable(all: readonly SuiteFigures[]): string {
  const rows = all.map(({ suite, what, rounds, acknowledged, lost, orphans }) =>
    [suite, what, rounds, acknowledged, lost.length, orphans.length].map(String),
  );
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** One line for each loss and orphan; empty: every suite has passed. */
export function faultFailures(all: readonly SuiteFigures[]): readonly string[] {
  return all.flatMap(({ suite, what, lost, orphans }) => [
    ...lost.map((each) => `${suite}: lost ${what}: ${each}`),
    ...orphans.map((each) => `${suite}: orphan of ${what}: ${each}`),
  ]);
}
