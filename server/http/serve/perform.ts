// Fourth stage of a request: runs its handler, again if a refusal was outdated.
import { HandlerContext } from '../handler-context.ts';
import type { RouteReply } from '../route.ts';
import { hopsOf, lookAgain } from '../second-look.ts';
import type { AppDeps } from './app-deps.ts';
import { isRouted, type OnMember } from './locate.ts';
import type { ResolvedRequest } from './resolve.ts';

/** Throws AppError. */
export async function perform(deps: AppDeps, resolved: ResolvedRequest, body: unknown): Promise<RouteReply | OnMember> {
  const { asked, handler, identity, names, query, request, reply } = resolved;
  await readOthersWrites(deps, resolved);
  const context = new HandlerContext({
    identity,
    names,
    namesIn: deps.namesIn,
    params: asked.params,
    query,
    body,
    request: request.raw,
    response: reply.raw,
  });
  const attempt = { asked, request: request.raw, body, isForwarded: identity.isForwarded === true };
  const call = async (): Promise<RouteReply> => handler(context);
  const first = await call().catch((error: unknown) => lookAgain(deps.cluster, attempt, error));
  if (!('at' in first)) return first;
  return first.at === 'here' ? call() : { member: first.at, body, hops: hopsOf(attempt) };
}

/** A read shows earlier changes of other members; whether a limit leaves room depends on all of them. */
async function readOthersWrites(deps: AppDeps, resolved: ResolvedRequest): Promise<void> {
  const { cluster, dialect, placing } = deps;
  const isRead = resolved.endpoint.method === 'GET';
  const needsNews = isRead ? isRouted(deps, resolved) : cluster.isOn && placing.isLimited(resolved.project);
  if (needsNews && !(await cluster.readBarrier()) && isRead)
    resolved.reply.headers(staleHeaders(dialect.headerPrefix, cluster.doubt));
}

/** Headers of an answer from memory, while this member misses the others' changes. */
const staleHeaders = (prefix: string, reason: string | undefined): Readonly<Record<string, string>> => ({
  [`${prefix}stale`]: 'true',
  ...(reason === undefined ? {} : { [`${prefix}stale-reason`]: reason }),
});
