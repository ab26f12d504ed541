// The figures of fault suites as a Markdown table, and the failures. Pure.
import { render } from '../bench/report.ts';
import { percentile } from './cluster/history.ts';
import type { Figures } from './suite.ts';

export interface SuiteFigures extends Figures {
  readonly suite: string;
}

const header = [
  'suite',
  'what',
  'rounds',
  'acknowledged',
  'lost',
  'orphans',
  'stall: median',
  '99 %',
  'longest',
] as const;

export function figuresTable(all: readonly SuiteFigures[]): string {
  const rows = all.map(({ suite, what, rounds, acknowledged, lost, orphans, stallsMs = [] }) =>
    [suite, what, rounds, acknowledged, lost.length, orphans.length, ...stallCells(stallsMs)].map(String),
  );
  return render([header, ...rows]);
}

function stallCells(stallsMs: readonly number[]): readonly string[] {
  if (stallsMs.length === 0) return ['', '', ''];
  return [0.5, 0.99, 1].map((share) => `${(percentile(stallsMs, share) / 1000).toFixed(1)} s`);
}

/** One line for each loss and orphan; empty: every suite has passed. */
export function faultFailures(all: readonly SuiteFigures[]): readonly string[] {
  return all.flatMap(({ suite, what, lost, orphans }) => [
    ...lost.map((each) => `${suite}: lost ${what}: ${each}`),
    ...orphans.map((each) => `${suite}: orphan of ${what}: ${each}`),
  ]);
}
