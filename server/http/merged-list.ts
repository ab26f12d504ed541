// A list of which each member of the cluster has a part: this member's with those of all others that can be reached.
import type { IncomingMessage } from 'node:http';
import type { Cluster } from '../cluster/cluster.ts';
import type { Caller } from '../services/caller.ts';
import { forwardHeaders } from './forwarded.ts';
import type { RouteReply } from './route.ts';

/** A member that does not answer in this time is left out. */
const longestMs = 10_000;

export async function merged(
  cluster: Cluster,
  caller: Caller,
  request: IncomingMessage,
  own: RouteReply,
): Promise<RouteReply> {
  if (own.kind !== 'sync' || !Array.isArray(own.metadata)) return own;
  const parts = await Promise.all(
    cluster.members.reachable().map((member) =>
      cluster.links
        .json<readonly unknown[]>(member, {
          method: 'GET',
          path: request.url ?? '/',
          headers: forwardHeaders(cluster.ownName, caller, 'svc'),
          signal: AbortSignal.timeout(longestMs),
          timeoutMs: longestMs,
        })
        // It went away meanwhile, or lacks what the list is of.
        .catch(() => []),
    ),
  );
  return { ...own, metadata: [...(own.metadata as readonly unknown[]), ...parts.flat()] };
}
