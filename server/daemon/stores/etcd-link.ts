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

/** Before the one at this client address ends. Never throws: the others choose another leader then. */
export async function handOver(store: ClusterStore, clientAddress: string): Promise<void> {
  const link = await membershipOf(store);
  await link.moveLeaderAway(clientAddress).catch(() => false);
  link.close();
}

/** Resolves when the one at this client address serves, or `hasEnded`. Throws an Error when it takes too long. */
export async function untilServing(store: ClusterStore, clientAddress: string, hasEnded: () => boolean): Promise<void> {
  const untilMs = performance.now() + serveMs;
  const link = await membershipOf(store);
  try {
    for (;;) {
      const status = await link.statusOf(clientAddress).catch(() => undefined);
      if (hasEnded() || (status !== undefined && status.leader !== '0')) return;
      if (performance.now() > untilMs)
        throw new Error('the etcd of this host does not serve since the keys of the cluster have changed');
      await pause(serveEveryMs, undefined);
    }
  } finally {
    link.close();
  }
}
