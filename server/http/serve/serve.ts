// Serves a request in five stages: admit, resolve, locate, perform, respond.
import type { FastifyReply } from 'fastify';
import { defaultProject } from '../../api/project/project-names.ts';
import { isTrustedCaller } from '../../services/shared/caller.ts';
import { toAppError } from '../../services/shared/translate-errors.ts';
import { answerError } from '../answer.ts';
import { admitBearer, userToForward } from '../caller-identity.ts';
import { forward } from '../forward.ts';
import { goneSignal } from '../handler-context.ts';
import { limitArrival } from '../linger.ts';
import { traceRequest } from '../trace-request.ts';
import { admit, identify, type AdmittedRequest, type Exchange } from './admit.ts';
import type { AppDeps } from './app-deps.ts';
import { locate, type OnMember } from './locate.ts';
import { perform } from './perform.ts';
import { resolve, type ResolvedRequest } from './resolve.ts';
import { respond } from './respond.ts';

export async function serve(deps: AppDeps, exchange: Exchange): Promise<FastifyReply> {
  const { endpoint, request, reply } = exchange;
  let mayKnowProjects = false;
  const arrivedMs = Date.now();
  try {
    const query = request.query as Record<string, string>;
    const project = query['project'] || defaultProject;
    // Not awaited without a token: most refusals are sent before anything else of the connection is read.
    const checked = admitBearer(deps.bearers, request.raw);
    if (checked !== undefined) await checked;
    const identity = identify(deps, exchange, project);
    mayKnowProjects = identity.caller.class === 'trusted';
    if (!isTrustedCaller(identity.caller)) limitArrival(request.raw);
    const admitted = admit(deps, { ...exchange, identity, project, query });
    // Untrusted callers add nothing to traces.
    const isTraced = isTrustedCaller(identity.caller) && endpoint.traced !== false;
    const tracer = isTraced ? deps.tracer() : undefined;
    const member = deps.cluster.ownName;
    const traced = { endpoint, request: request.raw, response: reply.raw, project, member, arrivedMs };
    return await traceRequest(tracer, traced, () => carryOut(deps, admitted));
  } catch (error) {
    return answerError(deps, request, reply, toAppError(error), mayKnowProjects);
  }
}

async function carryOut(deps: AppDeps, admitted: AdmittedRequest): Promise<FastifyReply> {
  const resolved = resolve(deps, admitted);
  const location = await locate(deps, resolved);
  if ('member' in location) return passOn(deps, resolved, location);
  const outcome = await perform(deps, resolved, location.body);
  if ('member' in outcome) return passOn(deps, resolved, outcome);
  return respond(deps, resolved, outcome);
}

function passOn(deps: AppDeps, { identity, request, reply }: ResolvedRequest, target: OnMember): Promise<FastifyReply> {
  const user = userToForward(deps.bearers, identity);
  const forwarded = { ...target, caller: identity.caller, user, dialect: deps.dialect.name, request: request.raw };
  return forward(deps.cluster, forwarded, reply, goneSignal(reply.raw));
}
