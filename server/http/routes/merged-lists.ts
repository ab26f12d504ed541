// Lists with a part from each member of a cluster: asks all members, and uses the records of those that do not answer or fail: a client
// takes an object that is not listed for deleted. Runs below the dialects, whose filters need complete lists.
import { AppError } from '../../api/errors.ts';
import { LongList } from '../../lib/shared/long-list.ts';
import type { Cluster } from '../../membership/cluster.ts';
import type { Member } from '../../membership/members.ts';
import type { AbsentMembers } from '../../services/cluster/absent-members.ts';
import { forwardHeaders } from '../forwarded.ts';
import {
  handlerOf,
  isOfAllProjects,
  recursionOf,
  type RouteContext,
  type RouteHandler,
  type RouteReply,
  type RouteTable,
} from '../route.ts';

/** A member that does not answer in this time counts as absent. */
const longestMs = 10_000;

interface Row {
  readonly isSpread: (context: RouteContext) => boolean;
  /** The recorded objects of a member that does not answer or fails. Only the member itself knows its operations. */
  readonly recorded?: (
    absent: AbsentMembers,
    member: number,
    context: RouteContext,
  ) => readonly unknown[] | Promise<readonly unknown[]>;
}

const always = (): boolean => true;
const projectOf = ({ query, caller }: RouteContext): string | undefined =>
  isOfAllProjects(query) ? undefined : caller.project;
const volumes: Row = {
  isSpread: always,
  recorded: (absent, member, context) => {
    const { pool = '', type } = context.params;
    return recursionOf(context.query) > 0
      ? absent.volumes(member, pool, projectOf(context), type)
      : absent.volumeUrls(member, pool, projectOf(context), type);
  },
};
const rows: Partial<Record<keyof RouteTable, Row>> = {
  'containers.list': {
    isSpread: ({ query }) => recursionOf(query) >= 2,
    recorded: (absent, member, context) => absent.containers(member, projectOf(context)),
  },
  'operations.list': { isSpread: always },
  'networks.leases': {
    isSpread: always,
    recorded: (absent, member, { params }) => absent.leases(member, params['name'] ?? ''),
  },
  'volumes.list': volumes,
  'volumes.listType': volumes,
};

export function withOtherMembers(routes: RouteTable, cluster: Cluster, absent: AbsentMembers): RouteTable {
  const merged = Object.entries(rows).map(([id, row]) => {
    const list = handlerOf(routes, id);
    return [id, list === undefined ? list : whole({ cluster, absent, row }, list)] as const;
  });
  return { ...routes, ...Object.fromEntries(merged) };
}

interface Spread {
  readonly cluster: Cluster;
  readonly absent: AbsentMembers;
  readonly row: Row;
}

/** A target names one member. */
function whole(spread: Spread, list: RouteHandler): RouteHandler {
  return async (context) => {
    const own = await list(context);
    const isOne = context.isForwarded === true || (context.query['target'] ?? '') !== '';
    return !spread.cluster.isOn || isOne || !spread.row.isSpread(context) ? own : withOthers(spread, context, own);
  };
}

interface Part {
  readonly member: string;
  readonly items: readonly unknown[];
}

async function withOthers(
  { cluster, absent, row }: Spread,
  context: RouteContext,
  own: RouteReply,
): Promise<RouteReply> {
  const listed = own.kind === 'sync' ? own.metadata : undefined;
  if (own.kind !== 'sync' || !(listed instanceof LongList || Array.isArray(listed))) return own;
  const here: readonly unknown[] = listed instanceof LongList ? await listed.whole() : listed;
  const headers = forwardHeaders(cluster.ownName, context.caller, 'svc');
  const ask = async (member: Member): Promise<readonly unknown[] | undefined> => {
    if (!member.isPresent) return undefined;
    const signal = AbortSignal.timeout(longestMs);
    const asked = { method: 'GET', path: pathOf(context), headers, signal, timeoutMs: longestMs };
    // A member without the pool or network has no part.
    return cluster.links
      .json<readonly unknown[]>(member, asked)
      .catch((error: unknown) => (error instanceof AppError && error.code === 'notFound' ? [] : undefined));
  };
  const others = cluster.members
    .list()
    .filter(({ isHere }) => !isHere)
    .map(async (member): Promise<Part> => {
      const items = (await ask(member)) ?? (await row.recorded?.(absent, member.number, context)) ?? [];
      return { member: member.name, items };
    });
  const parts = [{ member: cluster.ownName, items: here }, ...(await Promise.all(others))];
  return { ...own, metadata: mergeParts(parts) };
}

/** The handler's query may differ from the request's. */
function pathOf({ request, query }: RouteContext): string {
  const pairs = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `${(request.url ?? '/').split('?')[0] ?? '/'}?${new URLSearchParams(pairs).toString()}`;
}

/** A URL that several members have gets the member's name. */
export function mergeParts(parts: readonly Part[]): readonly unknown[] {
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
