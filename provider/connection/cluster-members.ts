// The members of a cluster, read once for each server when the place of an object asks for them.
import type { Client } from '../../server/client/client.ts';
import { isClustered, type Link } from './link.ts';

export type Member = Awaited<ReturnType<Client['members']>>[number];
/** By name. */
export type Members = ReadonlyMap<string, Member>;

const known = new WeakMap<Link['server'], Promise<Members>>();

/** Undefined outside a cluster. */
export async function clusterMembers(link: Link): Promise<Members | undefined> {
  if (!isClustered(link)) return undefined;
  const before = known.get(link.server);
  if (before !== undefined) return before;
  // Ignores the time limit of the first caller, since others share the result.
  const asked = link.client.members().then((all) => new Map(all.map((member) => [member.server_name, member])));
  asked.catch(() => known.delete(link.server));
  known.set(link.server, asked);
  return asked;
}
