// Lists of which each member of a cluster has a part: this member's with those of all others that can be reached. Below the dialects,
// whose filters act on whole lists.
import type { Cluster } from '../cluster/cluster.ts';
import { forwardHeaders } from './forwarded.ts';
import {
  handlerOf,
  recursionOf,
  type RouteContext,
  type RouteHandler,
  type RouteReply,
  type RouteTable,
} from './route.ts';

/** A member that does not answer in this time is left out. */
const longestMs = 10_000;

const always = (): boolean => true;
const rows: Partial<Record<keyof RouteTable, (context: RouteContext) => boolean>> = {
  'containers.list': ({ query }) => recursionOf(query) >= 2,
  'operations.list': always,
  'networks.leases': always,
  'volumes.list': always,
  'volumes.listType': always,
};

export function withOtherMembers(routes: RouteTable, cluster: Cluster): RouteTable {
  const merged = Object.entries(rows).map(([id, isSpread]) => {
    const list = handlerOf(routes, id);
    return [id, list === undefined ? list : whole(cluster, list, isSpread)] as const;
  });
  return { ...routes, ...Object.fromEntries(merged) };
}

/** A target names one member. */
function whole(cluster: Cluster, list: RouteHandler, isSpread: (context: RouteContext) => boolean): RouteHandler {
  return async (context) => {
    const own = await list(context);
    const isOne = context.isForwarded === true || (context.query['target'] ?? '') !== '';
    return !cluster.isOn || isOne || !isSpread(context) ? own : withOthers(cluster, context, own);
  };
}

interface Part {
  readonly member: string;
  readonly items: readonly unknown[];
}

async function withOthers(cluster: Cluster, context: RouteContext, own: RouteReply): Promise<RouteReply> {
  if (own.kind !== 'sync' || !Array.isArray(own.metadata)) return own;
  const headers = forwardHeaders(cluster.ownName, context.caller, 'svc');
  const others = cluster.members.reachable().map(async (member): Promise<Part> => {
    const signal = AbortSignal.timeout(longestMs);
    const asked = { method: 'GET', path: pathOf(context), headers, signal, timeoutMs: longestMs };
    // It went away meanwhile, or lacks what the list is of.
    const items = await cluster.links.json<readonly unknown[]>(member, asked).catch(() => []);
    return { member: member.name, items };
  });
  const parts = [
    { member: cluster.ownName, items: own.metadata as readonly unknown[] },
    ...(await Promise.all(others)),
  ];
  return { ...own, metadata: together(parts) };
}

/** The handler may have been called with another query than the request has. */
function pathOf({ request, query }: RouteContext): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `${(request.url ?? '/').split('?')[0] ?? '/'}?${new URLSearchParams(given).toString()}`;
}

/** A URL that several members have says of which it is. */
export function together(parts: readonly Part[]): readonly unknown[] {
  const counts = new Map<unknown, number>();
  for (const item of parts.flatMap(({ items }) => items)) counts.set(item, (counts.get(item) ?? 0) + 1);
  return parts.flatMap(({ member, items }) =>
    items.map((item) =>
      typeof item === 'string' && (counts.get(item) ?? 0) > 1
        ? `${item}${item.includes('?') ? '&' : '?'}target=${encodeURIComponent(member)}`
        : item,
    ),
  );
}
