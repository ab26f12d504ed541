// Orders sets: a set gets a new revision on a host once the sets that it depends on are synced there. Pure.
import type { SetConfig } from '../config/config.ts';
import type { Hindrance } from './host-verdict.ts';
import { short } from './short-revision.ts';

export interface SetWithHosts {
  readonly config: Pick<SetConfig, 'name' | 'dependsOn' | 'source'>;
  /** A rollback holds it at a revision. */
  readonly isHeld: boolean;
  readonly hosts: readonly HostOfSet[];
}

interface HostOfSet {
  readonly name: string;
  readonly isAway: boolean;
  /** Why it failed. */
  readonly failure?: string | undefined;
  /** True if it is synced, to this revision if one is given. */
  has(revision: string | undefined): boolean;
}

export interface WaitingHost {
  readonly name: string;
  readonly revision: string;
  /** This is the newest revision of the source, so dependencies from the same source must have it too. */
  readonly isNewest: boolean;
}

/** Why a host must wait with a new revision. A dependency that is not on the host must be synced on all of its hosts. */
export function whyHostWaits(
  { dependsOn, source }: Pick<SetConfig, 'dependsOn' | 'source'>,
  { name: host, revision, isNewest }: WaitingHost,
  sets: ReadonlyMap<string, SetWithHosts>,
): Hindrance | undefined {
  const unready = dependsOn.flatMap((name) => {
    const set = sets.get(name);
    if (set === undefined) return [];
    const needed = isNewest && set.config.source === source && !set.isHeld ? revision : undefined;
    const same = set.hosts.filter((one) => one.name === host);
    const late = (same.length > 0 ? same : set.hosts).filter((one) => !one.has(needed));
    if (late.length === 0) return [];
    const isOther = late.every((one) => one.has(undefined));
    const text = `${name} ${isOther ? `has revision ${short(revision)}` : 'is synced'}`;
    const failed = late.find(({ failure }) => failure !== undefined);
    const cause = failed === undefined ? [] : [`${name} failed on ${failed.name}: ${failed.failure ?? ''}`];
    return [{ text, cause, isAway: late.every(({ isAway }) => isAway) }];
  });
  if (unready.length === 0) return undefined;
  const texts = unready.map(({ text }) => text).join(' and ');
  const why = [`It waits until ${texts}.`, ...unready.flatMap(({ cause }) => cause)].join(' ');
  return { why, isAway: unready.some(({ isAway }) => isAway) };
}

export const dependentsOf = <T extends SetWithHosts>(name: string, sets: Iterable<T>): readonly T[] =>
  [...sets].filter(({ config }) => config.dependsOn.includes(name));
