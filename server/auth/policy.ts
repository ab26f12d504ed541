// Decides which endpoints a caller may use, from the endpoint table. identify.ts identifies the caller. Pure.
import type { CallerClass, Endpoint } from '../api/endpoints/endpoint.ts';
import type { EventType } from '../api/event.ts';

/** Further facts for a decision; all absent before routing, when the object is not yet known. */
export interface AccessFacts {
  /** The caller asks for a refusal unless it is trusted (request header `authenticated`), so that it notices lost trust. */
  readonly demandsTrust?: boolean;
  /** The object itself: public, or opened by a secret the caller brought, or neither. */
  readonly object?: 'public' | 'opened' | 'private';
}

export type Access = 'allow' | { readonly deny: 403 | 404; readonly reason: string };

/** Callers without trust get 404 for private objects of endpoints they may call: the answer hides that the object exists. */
export function decide(caller: CallerClass, endpoint: Pick<Endpoint, 'auth'>, facts: AccessFacts = {}): Access {
  if (!endpoint.auth.includes(caller)) return { deny: 403, reason: refusals[caller] };
  if (caller === 'trusted') return 'allow';
  if (facts.demandsTrust === true) return { deny: 403, reason: refusals[caller] };
  if (facts.object === 'private') return { deny: 404, reason: 'not found' };
  return 'allow';
}

/** Log lines are about everything on the server: callers who may not see all of it do not get them. */
export function eventTypesFor(caller: CallerClass, wanted: ReadonlySet<EventType>): ReadonlySet<EventType> {
  return caller === 'trusted' ? wanted : new Set([...wanted].filter((type) => type !== 'logging'));
}

const refusals: Readonly<Record<CallerClass, string>> = {
  guest: 'this needs a trusted client certificate, and the connection has none',
  untrusted: 'this needs a trusted client certificate, and the one of this connection is not trusted',
  trusted: 'trusted callers may not do this',
};
