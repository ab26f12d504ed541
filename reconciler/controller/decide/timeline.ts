// Merges the runs and drift of all sets into one list, newest first. Pure.
import type { DriftRecord, RunRecord, TimelineEntry } from '../contract/index.ts';

export interface Happened {
  readonly set: string;
  readonly runs: readonly RunRecord[];
  readonly drift: readonly DriftRecord[];
}

export interface TimelineQuery {
  readonly host?: string;
  /** Only older entries. */
  readonly before?: string;
  readonly limit: number;
}

export function timelineOf(
  sets: readonly Happened[],
  { host, before, limit }: TimelineQuery,
): readonly TimelineEntry[] {
  const end = before === undefined ? Infinity : Date.parse(before);
  return sets
    .flatMap(({ set, runs, drift }): readonly TimelineEntry[] => [
      ...runs
        .filter(({ hosts }) => host === undefined || hosts.includes(host))
        .map((run) => ({ at: run.at, set, run })),
      ...drift.filter((one) => host === undefined || one.host === host).map((one) => ({ at: one.at, set, drift: one })),
    ])
    .filter(({ at }) => Date.parse(at) < end)
    .toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at))
    .slice(0, limit);
}
