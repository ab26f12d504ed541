// The cluster's keys for commands that run beside the daemon, or without it.
import { ClusterKeys } from '../../membership/keys/cluster-keys.ts';
import { readMemberPair } from '../../membership/keys/identity.ts';
import { readMembership } from '../../membership/membership.ts';

/** The keys of this state directory's member. A single host has none and reads every value as it is. */
export async function keysOf(stateDir: string): Promise<ClusterKeys> {
  const current = await readMemberPair(stateDir);
  const keys = new ClusterKeys({ stateDir, identity: { current } });
  const membership = await readMembership(stateDir);
  if (membership !== undefined) await keys.load(membership.number);
  return keys;
}
