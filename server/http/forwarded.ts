// Requests that one member of a cluster forwards to another: headers that carry the caller. Valid only on a connection with a member's
// certificate.
import type { IncomingHttpHeaders } from 'node:http';
import { errors } from '../api/errors.ts';
import type { UserClaims } from '../auth/oidc/bearer-tokens.ts';
import { type CallerClass, callerClasses } from '../api/endpoints/endpoint.ts';
import { dialectHeader, fromHeader } from '../membership/peer-headers.ts';
import type { Caller } from '../services/shared/caller.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

const callerHeader = 'x-gantry-caller';

/** The user of a token that the first member has checked. */
export interface ForwardedUser {
  readonly subject: string;
  readonly claims: UserClaims;
}

export function forwardHeaders(
  from: string,
  caller: Caller,
  dialect: string,
  user?: ForwardedUser,
): Record<string, string> {
  const { class: callerClass, projects, requestor } = caller;
  const text = JSON.stringify({
    class: callerClass,
    requestor,
    ...withoutUndefined({ projects, user }),
  });
  return { [fromHeader]: from, [callerHeader]: Buffer.from(text).toString('base64url'), [dialectHeader]: dialect };
}

/** Whether a member forwarded it; only for connections of members. */
export const isForwarded = (headers: IncomingHttpHeaders): boolean => headers[fromHeader] !== undefined;

/** The original caller; undefined: that member itself. Throws AppError badRequest for headers that no member writes. */
export function forwardedCaller(headers: IncomingHttpHeaders, project: string): Caller | undefined {
  const header = headers[callerHeader];
  if (typeof header !== 'string') return undefined;
  try {
    const found = JSON.parse(Buffer.from(header, 'base64url').toString()) as Partial<Caller>;
    const { requestor, projects } = found;
    if (requestor === undefined || !isClass(found.class)) throw new Error('it names no caller');
    return { class: found.class, requestor, project, ...withoutUndefined({ projects }) };
  } catch {
    throw errors.badRequest(`The header ${callerHeader} of the other member cannot be read`);
  }
}

/** For headers that `forwardedCaller` has read. */
export function forwardedUser(headers: IncomingHttpHeaders): ForwardedUser | undefined {
  const header = headers[callerHeader];
  if (typeof header !== 'string') return undefined;
  const { user } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { readonly user?: ForwardedUser };
  return typeof user?.subject === 'string' && typeof user.claims === 'object' ? user : undefined;
}

const isClass = (text: unknown): text is CallerClass => callerClasses.some((each) => each === text);
