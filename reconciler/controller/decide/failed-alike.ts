// Joins repeated runs that fail for one reason into one history entry with a count, so that they do not push out others. Pure.
import type { RunRecord } from '../contract/index.ts';

/** The run that `next` repeats: the previous one on the same hosts, if it failed alike and neither changed anything. `runs`: newest first. */
export function repeatedBy(next: RunRecord, runs: readonly RunRecord[]): RunRecord | undefined {
  if (!changedNothing(next)) return undefined;
  const hosts = next.hosts.join('\n');
  const before = runs.find(({ id, hosts: others }) => id !== next.id && others.join('\n') === hosts);
  return before !== undefined && changedNothing(before) && isAlike(before, next) ? before : undefined;
}

/** `next` with the count of tries in `before` added. */
export const joinedTries = (before: RunRecord, next: RunRecord): RunRecord => ({
  ...next,
  tries: (before.tries ?? 1) + 1,
  since: before.since ?? before.at,
});

const changedNothing = ({ outcome, changes }: RunRecord): boolean =>
  outcome === 'failed' && changes.create + changes.update + changes.delete === 0;

const isAlike = (one: RunRecord, next: RunRecord): boolean =>
  one.revision === next.revision && one.reason === next.reason && one.by === next.by && one.message === next.message;
