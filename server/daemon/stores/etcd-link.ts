// Calls to the etcds that members of a cluster run, for what the daemon does with them.
import { errors } from '../../api/errors.ts';
import type { EtcdMembership } from '../../membership/etcd/membership.ts';
import type { ClusterStore } from '../../membership/membership.ts';
import { pause } from '../../lib/shared/deadline.ts';
import { etcdSettings } from './store-choice.ts';

/** After it was started again; the others must agree on a leader. */
const serveMs = 30_000;
const serveEveryMs = 100;

/** Loads gRPC, which the other hosts need not keep in memory. */
export async function membershipOf(store: ClusterStore): Promise<EtcdMembership> {
  const [{ EtcdMembership: Membership }, settings] = await Promise.all([
    import('../../membership/etcd/membership.ts'),
    etcdSettings(store),
  ]);
  return new Membership(settings);
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

/** The members of the cluster, as the one knows them that changes its etcd. */
export interface EtcdPlaces {
  /** The member whose etcd has this peer address does not renew its lease, or was removed. */
  readonly isAway: (peerAddress: string) => boolean;
}

/** Before the one at this client address ends. Never throws: the others choose another leader then. */
export async function handOver(store: ClusterStore, clientAddress: string, places: EtcdPlaces): Promise<void> {
  const link = await membershipOf(store);
  await link.moveLeaderAway(clientAddress, ({ peerAddress }) => !places.isAway(peerAddress)).catch(() => false);
  link.close();
}

/**
 * Before the keys of this host change: the etcd of a member that is away does not lead after it, since it will not know those that the others
 * show, and no lease can be renewed through them. Never throws.
 */
export async function leadHere(store: ClusterStore, places: EtcdPlaces): Promise<void> {
  const link = await membershipOf(store);
  try {
    const leader = await link.leader();
    const [address] = leader?.clientAddresses ?? [];
    if (leader === undefined || address === undefined || !places.isAway(leader.peerAddress)) return;
    await link.moveLeaderAway(address, ({ peerAddress }) => !places.isAway(peerAddress));
  } catch {
    // They choose another one when enough of them have changed their keys.
  } finally {
    link.close();
  }
}

/**
 * Resolves when the one at this client address serves, `hasEnded`, or it is led by the etcd of a member that is away: that one has not taken
 * the keys, so it is cut off from this one until enough others have changed theirs to choose another leader. Throws an Error when it takes
 * too long.
 */
export async function untilServing(
  store: ClusterStore,
  clientAddress: string,
  places: EtcdPlaces & { readonly hasEnded: () => boolean },
): Promise<void> {
  const untilMs = performance.now() + serveMs;
  const link = await membershipOf(store);
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
