// The daemon's calls to the etcds that members of a cluster run.
import { errors } from '../../api/errors.ts';
import type { EtcdMembership } from '../../membership/etcd/membership.ts';
import type { ClusterStore } from '../../membership/membership.ts';
import type { LinkOptions } from '../../store/etcd/link.ts';
import { pause } from '../../lib/shared/deadline.ts';
import { etcdSettings } from './store-choice.ts';

/** How long a restarted etcd may take to serve: the voters must agree on a leader. */
const serveMs = 30_000;
const serveEveryMs = 100;
/** The time limit of a call that may fail: longer than an election takes. A member that the etcds no longer admit gets no answer. */
const bestEffort = { totalMs: 5_000 };

/** Loads gRPC, which other hosts need not keep in memory. */
export async function membershipOf(
  store: ClusterStore,
  limits: Pick<LinkOptions, 'totalMs'> = {},
): Promise<EtcdMembership> {
  const [{ EtcdMembership: Membership }, settings] = await Promise.all([
    import('../../membership/etcd/membership.ts'),
    etcdSettings(store),
  ]);
  return new Membership({ ...settings, ...limits });
}

export async function withdrawFrom(link: EtcdMembership, peerAddress: string): Promise<void> {
  const found = await link.list();
  const mine = found.find((member) => member.peerAddress === peerAddress);
  if (mine === undefined) return;
  if (!found.some((member) => member !== mine && !member.isLearner))
    throw errors.badRequest(
      'This member runs the only etcd of the cluster, which has all its records: remove it when another member runs one, too',
    );
  await link.remove(mine.id);
}

/** The members of the cluster, for the member that changes its etcds. */
export interface EtcdPlaces {
  /** The member whose etcd has this peer address has no lease, or was removed. */
  readonly isAway: (peerAddress: string) => boolean;
}

/** Call before the etcd at this client address ends. Never throws: the others then elect a leader. */
export async function handOver(store: ClusterStore, clientAddress: string, places: EtcdPlaces): Promise<void> {
  const link = await membershipOf(store, bestEffort);
  await link.moveLeaderAway(clientAddress, ({ peerAddress }) => !places.isAway(peerAddress)).catch(() => false);
  link.close();
}

/** Call before the keys of this host change: an absent member's etcd must not lead afterwards, since it will not know the new keys, and no
 *  lease can be renewed through it. Never throws. */
export async function leadHere(store: ClusterStore, places: EtcdPlaces): Promise<void> {
  const link = await membershipOf(store, bestEffort);
  try {
    const leader = await link.leader();
    const [address] = leader?.clientAddresses ?? [];
    if (leader === undefined || address === undefined || !places.isAway(leader.peerAddress)) return;
    await link.moveLeaderAway(address, ({ peerAddress }) => !places.isAway(peerAddress));
  } catch {
    // They elect another leader once enough of them have changed their keys.
  } finally {
    link.close();
  }
}

/** Resolves when the etcd at this client address serves, `hasEnded`, or an absent member's etcd leads: that one lacks the new keys, so it
 *  is cut off until enough others have changed theirs to elect another leader. Throws an Error on a timeout. */
export async function untilServing(
  store: ClusterStore,
  clientAddress: string,
  places: EtcdPlaces & { readonly hasEnded: () => boolean },
): Promise<void> {
  const untilMs = performance.now() + serveMs;
  const link = await membershipOf(store, bestEffort);
  try {
    for (;;) {
      const status = await link.statusOf(clientAddress).catch(() => undefined);
      if (places.hasEnded() || (status !== undefined && status.leader !== '0')) return;
      if (status !== undefined && (await isLedByOneAway(link, places))) return;
      if (performance.now() > untilMs)
        throw new Error('the etcd of this host does not serve since the keys of the cluster have changed');
      await pause(serveEveryMs, undefined);
    }
  } finally {
    link.close();
  }
}

async function isLedByOneAway(link: EtcdMembership, { isAway }: EtcdPlaces): Promise<boolean> {
  const leader = await link.leader().catch(() => undefined);
  return leader !== undefined && isAway(leader.peerAddress);
}
