// What a member does next while the keys of its cluster change. Pure.
import { compareStates, type KeyState, type Progress } from './keyring.ts';

export interface KeyMember {
  readonly number: number;
  /** It renews its lease; one that is away takes the keys when it is back. */
  readonly isPresent: boolean;
  /** How far it has followed, as it says; undefined: it has said nothing. */
  readonly followed: Progress | undefined;
  /** It runs an etcd of the cluster, or may do so. */
  readonly runsEtcd: boolean;
}

export type KeyStep = 'follow' | 'advance' | 'wait' | 'rest';

/**
 * follow: this member does what the phase asks. Those that run an etcd do so one after the other, as it is started again. advance: all that
 * are there have followed, and the first of them begins the next phase.
 */
export function nextKeyStep(
  wanted: KeyState,
  followed: Progress | undefined,
  members: readonly KeyMember[],
  here: number,
): KeyStep {
  const present = members.filter(({ isPresent }) => isPresent);
  const own = members.find(({ number }) => number === here);
  if (own === undefined) return 'rest';
  const isBehind = (progress: Progress | undefined): boolean =>
    progress === undefined || compareStates(progress, wanted) < 0;
  if (isBehind(followed)) {
    const isBefore = ({ number, runsEtcd }: KeyMember): boolean => runsEtcd && number < here;
    const mustWait = own.runsEtcd && present.some((each) => isBefore(each) && isBehind(each.followed));
    return mustWait ? 'wait' : 'follow';
  }
  if (wanted.phase === 'done') return 'rest';
  const isFirst = present.every(({ number }) => number >= here);
  const others = present.filter(({ number }) => number !== here);
  return isFirst && !others.some((each) => isBehind(each.followed)) ? 'advance' : 'wait';
}
