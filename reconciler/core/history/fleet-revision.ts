// Chooses the revision to which several hosts roll back: one rollout of the whole fleet, since each host numbers its own. Pure.
import { utcSecond } from '../text/times.ts';
import type { Revision } from './revisions.ts';

export interface HostHistory {
  readonly host: string;
  /** Oldest first. */
  readonly revisions: readonly Revision[];
}

export interface FleetRevision {
  /** `the rollout of 2030-01-31T12:00:00Z ("release 12", 1a2b3c4)`. */
  readonly title: string;
  /** Its number on each host that has it. */
  readonly numbers: ReadonlyMap<string, number>;
  /** Hosts without a successful revision of it. */
  readonly lacking: readonly string[];
}

/** The key that the revisions of one rollout share on all hosts; undefined when a revision has none. */
const identityOf = ({ rollout, commit, message }: Revision): string | undefined =>
  rollout ?? (commit === undefined && message === undefined ? undefined : JSON.stringify([commit, message]));

const isGood = ({ mode, outcome, isPartial, documents }: Revision): boolean =>
  mode === 'apply' && outcome === 'done' && isPartial !== true && documents !== undefined;

/** The newest successful and matching revision of each host. */
function gather(hosts: readonly HostHistory[], fits: (revision: Revision) => boolean): FleetRevision | undefined {
  const found = hosts.flatMap(({ host, revisions }) => {
    const revision = revisions.findLast((one) => isGood(one) && fits(one));
    return revision === undefined ? [] : [{ host, revision }];
  });
  const newest = found.reduce<Revision | undefined>((best, { revision }) => newer(best, revision), undefined);
  if (newest === undefined) return undefined;
  const has = new Set(found.map(({ host }) => host));
  return {
    title: titleOf(newest),
    numbers: new Map(found.map(({ host, revision }) => [host, revision.number])),
    lacking: hosts.map(({ host }) => host).filter((host) => !has.has(host)),
  };
}

const newer = (best: Revision | undefined, one: Revision): Revision =>
  best === undefined || one.at > best.at ? one : best;

function titleOf({ at, message, commit }: Revision): string {
  const remarks = [
    ...(message === undefined ? [] : [JSON.stringify(message)]),
    ...(commit === undefined ? [] : [commit]),
  ];
  const remark = remarks.length === 0 ? '' : ` (${remarks.join(', ')})`;
  return `the rollout of ${utcSecond(at)}${remark}`;
}

/**
 * Without a number: the newest earlier rollout that succeeded on all hosts and differs on one of them; otherwise the newest that
 * succeeded on some. The current rollout is the newest on any host, so a host that it missed does not go back further.
 */
export function previousOfFleet(hosts: readonly HostHistory[]): FleetRevision | undefined {
  const all = hosts.flatMap(({ revisions }) => revisions);
  const current = all.reduce<Revision | undefined>(newer, undefined);
  if (current === undefined) return undefined;
  const isCurrent = identityOf(current);
  const older = all.filter((one) => isGood(one) && identityOf(one) !== undefined && identityOf(one) !== isCurrent);
  const byAge = older.toSorted((a, b) => (a.at < b.at ? 1 : -1));
  const identities = [...new Set(byAge.map((one) => identityOf(one)))];
  const choices = identities.flatMap((identity) => {
    const choice = gather(hosts, (one) => identityOf(one) === identity);
    return choice !== undefined && differs(hosts, choice) ? [choice] : [];
  });
  return choices.find(({ lacking }) => lacking.length === 0) ?? choices[0];
}

const differs = (hosts: readonly HostHistory[], { numbers }: FleetRevision): boolean =>
  hosts.some(({ host, revisions }) => {
    const chosen = revisions.find(({ number }) => number === numbers.get(host));
    return chosen !== undefined && chosen.documents !== revisions.at(-1)?.documents;
  });

/** The newest revision with this commit (at least 4 digits of it) or exactly this message. */
export const isNamed =
  (text: string) =>
  ({ commit, message }: Revision): boolean =>
    message === text || (/^[0-9a-f]{4,40}$/.test(text) && commit !== undefined && commit.startsWith(text));

export const namedInFleet = (hosts: readonly HostHistory[], text: string): FleetRevision | undefined =>
  gather(hosts, isNamed(text));
