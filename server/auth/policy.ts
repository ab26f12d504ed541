// Decides which endpoints a caller may use, from the endpoint table. identify.ts identifies the caller. Pure.
import type { CallerClass, Endpoint } from '../api/endpoints/endpoint.ts';
import type { EventType } from '../api/event.ts';

/** Further facts for a decision; all absent before routing, when the object is not yet known. */
export interface AccessFacts {
  /** The caller wants a refusal unless it is trusted (request header `authenticated`), so that it notices lost trust. */
  readonly demandsTrust?: boolean;
  /** The caller has shown a token instead of a certificate: refusals mention that. */
  readonly hasToken?: boolean;
  /** The object itself: public, or unlocked by the caller's secret, or private. */
  readonly object?: 'public' | 'opened' | 'private';
  /** The projects of a restricted caller. Absent: none. */
  readonly projects?: readonly string[];
  /** The project of the request, and whether the request names it or leaves it at `default`. */
  readonly project?: { readonly name: string; readonly isNamed: boolean };
  /** The request asks for the objects of all projects. */
  readonly isAboutAll?: boolean;
}

export type Access =
  | 'allow'
  | { readonly deny: 403; readonly reason: string }
  /** `project`: answer as if it does not exist. */
  | { readonly deny: 404; readonly reason: 'not found'; readonly project?: string };

/** Callers get 404 for objects that must stay hidden. */
export function decide(
  caller: CallerClass,
  endpoint: Pick<Endpoint, 'auth'> & Partial<Pick<Endpoint, 'scope'>>,
  facts: AccessFacts = {},
): Access {
  const refusals = facts.hasToken === true ? tokenRefusals : certificateRefusals;
  if (!endpoint.auth.includes(caller)) return { deny: 403, reason: refusals[caller] };
  if (caller === 'trusted') return 'allow';
  if (caller === 'restricted') return decideInProjects(endpoint.scope ?? 'server', facts);
  if (facts.demandsTrust === true) return { deny: 403, reason: refusals[caller] };
  if (facts.object === 'private') return { deny: 404, reason: 'not found' };
  return 'allow';
}

/** An endpoint without a project only refuses a named foreign one; restricted-view.ts limits its answers. */
function decideInProjects(
  scope: Endpoint['scope'],
  { projects = [], project, isAboutAll = false, hasToken = false }: AccessFacts,
): Access {
  const who = hasToken ? 'user of this token' : 'client certificate';
  if (isAboutAll) return { deny: 403, reason: `the ${who} is restricted to projects: ask for each of them` };
  if (project === undefined || projects.includes(project.name)) return 'allow';
  if (scope === 'shared' && !project.isNamed) return 'allow';
  return { deny: 404, reason: 'not found', project: project.name };
}

/** The class of a caller for metrics. `isOpen`: anyone may read them. */
export function classForMetrics(
  caller: { readonly class: CallerClass; readonly isForMetrics?: boolean; readonly projects?: readonly string[] },
  isOpen: boolean,
): CallerClass {
  const isStranger = caller.class === 'guest' || caller.class === 'untrusted';
  if (!isStranger || !(isOpen || caller.isForMetrics === true)) return caller.class;
  return caller.projects === undefined ? 'trusted' : 'restricted';
}

/** Log lines concern the whole server: callers restricted to a part do not get them. */
export function eventTypesFor(caller: CallerClass, wanted: ReadonlySet<EventType>): ReadonlySet<EventType> {
  return caller === 'trusted' ? wanted : new Set([...wanted].filter((type) => type !== 'logging'));
}

const certificateRefusals: Readonly<Record<CallerClass, string>> = {
  guest: 'this needs a trusted client certificate, and the connection has none',
  untrusted: 'this needs a trusted client certificate, and the one of this connection is not trusted',
  restricted: 'the client certificate is restricted to projects, and this is not in one of them',
  trusted: 'trusted callers may not do this',
};

const tokenRefusals: Readonly<Record<CallerClass, string>> = {
  guest: 'this needs a trusted user, and the token of the request is not accepted: log in again',
  untrusted: 'this needs a trusted user, and no group in the token is one that oidc.groups.* of the server names',
  restricted: 'the user of this token is restricted to projects, and this is not in one of them',
  trusted: certificateRefusals.trusted,
};
