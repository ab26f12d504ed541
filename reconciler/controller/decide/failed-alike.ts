// Tries that fail again and again for one reason are one run in the history, with their number: they must not push other runs out of it. Pure.
import type { RunRecord } from '../contract/index.ts';

/** The run that `next` repeats: the newest before it on the same hosts, if it failed alike and neither changed anything. `runs`: newest first. */
export function repeatedBy(next: RunRecord, runs: readonly RunRecord[]): RunRecord | undefined {
  if (!changedNothing(next)) return undefined;
  const hosts = next.hosts.join('\n');
  const before = runs.find(({ id, hosts: others }) => id !== next.id && others.join('\n') === hosts);
  return before !== undefined && changedNothing(before) && isAlike(before, next) ? before : undefined;
}

/** `next` as the record of its own try and of those that `before` stands for. */
export const joinedTries = (before: RunRecord, next: RunRecord): RunRecord => ({
  ...next,
  tries: (before.tries ?? 1) + 1,
  since: before.since ?? before.at,
});

const changedNothing = ({ outcome, changes }: RunRecord): boolean =>
  outcome === 'failed' && changes.create + changes.update + changes.delete === 0;

const isAlike = (one: RunRecord, next: RunRecord): boolean =>
  one.revision === next.revision && one.reason === next.reason && one.by === next.by && one.message === next.message;
