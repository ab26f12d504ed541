// Decides which maintenance the etcds of a cluster need next, and which warnings an operator gets. Pure.
import type { EtcdStatus } from './membership.ts';

export interface EtcdFacts {
  readonly etcds: readonly {
    readonly id: string;
    readonly name: string;
    readonly address: string | undefined;
    /** Undefined if it did not answer. */
    readonly status: EtcdStatus | undefined;
    /** The revision at which its file was rewritten last. */
    readonly defragmentedAt?: number | undefined;
  }[];
  readonly alarms: readonly { readonly memberId: string; readonly alarm: string }[];
}

export type EtcdCareStep =
  | { readonly do: 'defragment'; readonly address: string }
  | { readonly do: 'disarm'; readonly memberId: string };

/** A file below this size, or below a quarter of the quota, is not worth the pause. */
const smallBytes = 64 * 1024 ** 2;
/** The share of the quota above which an operator is warned. */
const nearlyFull = 0.8;

/** One etcd at a time, the leader last, and only while all of them answer: an etcd that defragments does not serve. An alarm can be
 *  cleared once every file is below the quota. Space freed by a compaction counts as used until the next write, which a full etcd may refuse: so
 *  its file is rewritten after each change. */
export function nextCare({ etcds, alarms }: EtcdFacts, quotaBytes: number): EtcdCareStep | undefined {
  const isFull = alarms.some(({ alarm }) => alarm === 'NOSPACE');
  const known = etcds.flatMap(({ id, address, status, defragmentedAt = 0 }) =>
    address === undefined || status === undefined ? [] : [{ id, address, status, defragmentedAt }],
  );
  if (known.length < etcds.length && !isFull) return undefined;
  const wasteful = known.filter(({ status: { sizeBytes, usedBytes, revision }, defragmentedAt }) => {
    if (isFull && sizeBytes >= quotaBytes * nearlyFull && revision > defragmentedAt) return true;
    return usedBytes < sizeBytes / 2 && sizeBytes > Math.min(smallBytes, quotaBytes / 4);
  });
  const [first] = wasteful.sort((a, b) => Number(leads(a)) - Number(leads(b)));
  if (first !== undefined) return { do: 'defragment', address: first.address };
  const hasRoom = known.every(({ status }) => status.sizeBytes < quotaBytes * nearlyFull);
  const alarm = alarms.find((each) => each.alarm === 'NOSPACE');
  return alarm !== undefined && hasRoom && known.length > 0 ? { do: 'disarm', memberId: alarm.memberId } : undefined;
}

const leads = ({ id, status }: { readonly id: string; readonly status: EtcdStatus }): boolean => status.leader === id;

export function warningsOf({ etcds, alarms }: EtcdFacts, quotaBytes: number): string[] {
  const nameOf = (id: string): string => etcds.find((etcd) => etcd.id === id)?.name ?? id;
  const kinds = alarms.map(({ memberId, alarm }) => {
    if (alarm === 'NOSPACE')
      return `etcd is full (${nameOf(memberId)} has raised the alarm NOSPACE): changes are refused until records are deleted; it then recovers by itself`;
    return `etcd at ${nameOf(memberId)} has raised the alarm ${alarm}: its data is damaged, remove that member and add it again`;
  });
  const sizes = etcds.flatMap(({ name, status }) => {
    if (status === undefined || status.usedBytes <= quotaBytes * nearlyFull) return [];
    const percent = Math.floor((status.usedBytes / quotaBytes) * 20) * 5;
    return [`etcd at ${name} uses more than ${percent} % of its quota of ${megabytes(quotaBytes)}`];
  });
  return [...kinds, ...sizes];
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
