// The order of a rollout: canaries first, then batches of hosts; and when it stops. Pure.
import type { Rollout } from '../config/config.ts';

export function batchesOf<T extends Pick<BatchHost, 'isAway'>>(
  { size, canary }: Pick<Rollout, 'size' | 'canary'>,
  all: readonly T[],
): readonly (readonly T[])[] {
  // A canary that does not answer proves nothing.
  const hosts = all.toSorted((one, other) => Number(one.isAway) - Number(other.isAway));
  const first = hosts.slice(0, canary);
  const rest = hosts.slice(canary);
  const count = 'count' in size ? size.count : Math.max(1, Math.ceil((rest.length * size.percent) / 100));
  const batches: (readonly T[])[] = first.length === 0 ? [] : [first];
  for (let at = 0; at < rest.length; at += count) batches.push(rest.slice(at, at + count));
  return batches;
}

export interface BatchHost {
  readonly isSynced: boolean;
  readonly isFailed: boolean;
  /** The host is unreachable: it neither succeeds nor fails, and gets the revision when it is back. */
  readonly isAway: boolean;
}

/** wait: hosts are at work. halt: too many hosts failed. go: the next batch may begin. */
export function batchVerdict(
  hosts: readonly BatchHost[],
  stopAfter: number,
  waitsForAway = false,
): 'wait' | 'halt' | 'go' {
  const failed = hosts.filter(({ isFailed }) => isFailed).length;
  if (failed >= stopAfter) return 'halt';
  return hosts.every(({ isSynced, isFailed, isAway }) => isSynced || isFailed || (isAway && !waitsForAway))
    ? 'go'
    : 'wait';
}
