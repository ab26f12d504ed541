// Decides which members of a cluster run an etcd and vote, and the next change towards that. Pure.

export interface EtcdCandidate {
  /** In the order of joining; never reused. */
  readonly number: number;
  readonly peerAddress: string;
  readonly isAvailable: boolean;
  readonly runsEtcd: boolean;
}

export interface EtcdRoles {
  readonly voters: readonly EtcdCandidate[];
  /** Has a copy of everything, without a vote. */
  readonly learner: EtcdCandidate | undefined;
}

/** The first members vote, an odd number of them, `max` at most; when one leaves, the next one takes its place. Of two members one votes
 *  and the other has a copy: with two votes, the loss of either would stop all writes. */
export function etcdVoters(members: readonly EtcdCandidate[], max = 3): EtcdRoles {
  const rank = ({ runsEtcd, isAvailable }: EtcdCandidate): number => (runsEtcd ? 0 : isAvailable ? 1 : 2);
  const ranked = [...members].sort((a, b) => rank(a) - rank(b) || a.number - b.number);
  const odd = ranked.length % 2 === 0 ? ranked.length - 1 : ranked.length;
  const count = Math.max(1, Math.min(max, odd));
  return { voters: ranked.slice(0, count), learner: ranked.length === 2 ? ranked[1] : undefined };
}

export interface EtcdMember {
  readonly id: string;
  /** Empty until its first start. */
  readonly name: string;
  readonly peerAddress: string;
  readonly clientAddresses: readonly string[];
  readonly isLearner: boolean;
}

export type EtcdChange =
  | { readonly do: 'remove'; readonly member: EtcdMember }
  | { readonly do: 'add'; readonly candidate: EtcdCandidate }
  | { readonly do: 'promote'; readonly member: EtcdMember };

/** The first change to make; undefined if the cluster is as it should be. Removes unavailable etcds first, because a dead voter makes every
 *  other change harder; removes others last, so that there are never fewer copies than before. */
export function nextEtcdChange(
  roles: EtcdRoles,
  found: readonly EtcdMember[],
  isAvailable: (member: EtcdMember) => boolean,
): EtcdChange | undefined {
  const votes = new Set(roles.voters.map(({ peerAddress }) => peerAddress));
  const isWanted = (member: EtcdMember): boolean =>
    votes.has(member.peerAddress) || (member.isLearner && member.peerAddress === roles.learner?.peerAddress);
  const unwanted = found.filter((member) => !isWanted(member));
  const remove = (member: EtcdMember | undefined): EtcdChange | undefined => member && { do: 'remove', member };
  const gone = remove(unwanted.find((member) => !isAvailable(member) || member.isLearner));
  if (gone !== undefined) return gone;
  // etcd allows one learner at a time.
  const learner = found.find(({ isLearner }) => isLearner);
  if (learner !== undefined && votes.has(learner.peerAddress)) return { do: 'promote', member: learner };
  const known = new Set(found.map(({ peerAddress }) => peerAddress));
  const [candidate] = [...roles.voters, ...(roles.learner === undefined ? [] : [roles.learner])].filter(
    ({ peerAddress }) => !known.has(peerAddress),
  );
  if (candidate !== undefined && learner === undefined) return { do: 'add', candidate };
  return remove(unwanted[0]);
}
