// First stage of a request: identifies the caller, and checks whether it may use the endpoint.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Endpoint } from '../../api/endpoints/endpoint.ts';
import { classForMetrics } from '../../auth/policy.ts';
import { identityOf, type Identity } from '../caller-identity.ts';
import { accessRefusal } from '../restricted.ts';
import type { RouteHandler } from '../route.ts';
import type { AppDeps } from './app-deps.ts';

export interface Exchange {
  readonly endpoint: Endpoint;
  /** Absent: this release does not serve the endpoint. */
  readonly handler: RouteHandler | undefined;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export interface AdmittedRequest extends Exchange {
  readonly identity: Identity;
  readonly project: string;
  readonly query: Readonly<Record<string, string>>;
}

/** Metrics need less trust than anything else. */
export function identify(deps: AppDeps, { endpoint, request }: Exchange, project: string): Identity {
  const identity = identityOf(deps, request.raw, project);
  if (endpoint.access !== 'metrics') return identity;
  const { caller, isForMetrics = false } = identity;
  const callerClass = classForMetrics({ ...caller, isForMetrics }, deps.isMetricsOpen());
  return { ...identity, caller: { ...caller, class: callerClass } };
}

/** Throws AppError. */
export function admit(deps: AppDeps, asking: AdmittedRequest): AdmittedRequest {
  const { endpoint, identity, query, request } = asking;
  const demandsTrust = request.headers[`${deps.dialect.headerPrefix}authenticated`] === 'true';
  const refused = accessRefusal(identity.caller, endpoint, query, demandsTrust);
  if (refused !== undefined) throw refused;
  return asking;
}
