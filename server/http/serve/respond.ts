// Fifth stage of a request: assigns an owner to the operation, and limits the result to what the caller may see.
import type { FastifyReply } from 'fastify';
import { answerResult } from '../answer.ts';
import type { Identity } from '../caller-identity.ts';
import { seen } from '../restricted.ts';
import type { RouteReply } from '../route.ts';
import type { AppDeps, OperationOwner } from './app-deps.ts';
import type { ResolvedRequest } from './resolve.ts';

export function respond(deps: AppDeps, resolved: ResolvedRequest, result: RouteReply): FastifyReply {
  const { endpoint, identity, project, request, reply, sight } = resolved;
  const owner = ownerOf(identity);
  if (result.kind === 'async' && owner !== undefined) deps.claimOperation(result.operation.id, owner, project);
  const shown = sight === undefined ? result : seen(endpoint, result, sight);
  return answerResult(deps, endpoint, request, reply, shown);
}

/** Whose lost trust ends the operation; undefined: no one, as on the unix socket. */
function ownerOf({ subject, caller }: Identity): OperationOwner | undefined {
  if (subject !== undefined) return { subject };
  const { protocol, username } = caller.requestor;
  return protocol === 'tls' ? { fingerprint: username } : undefined;
}
