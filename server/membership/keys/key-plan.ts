// Decides a member's next step in a change of the cluster's keys. Pure.
import { compareStates, type KeyState, type Progress } from './keyring.ts';

export interface KeyMember {
  readonly number: number;
  /** It renews its lease; an absent member takes the keys on its return. */
  readonly isPresent: boolean;
  /** The phase it says it has reached; undefined: it has said nothing. */
  readonly followed: Progress | undefined;
  /** It runs an etcd of the cluster, or may do so. */
  readonly runsEtcd: boolean;
}

/** follow: this member does what the phase asks. Members that run an etcd follow one at a time, since it is restarted. advance: all present
 *  members have followed, and the first of them begins the next phase. */
export function nextKeyStep(
  wanted: KeyState,
  followed: Progress | undefined,
  members: readonly KeyMember[],
  here: number,
): 'follow' | 'advance' | 'wait' | 'rest' {
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
