// Third stage of a request: finds the member of the cluster that carries it out; reads its body if that is this one.
import type { IncomingMessage } from 'node:http';
import type { Endpoint } from '../../api/endpoints/endpoint.ts';
import type { ContainerCreate } from '../../api/container/container.ts';
import type { Member } from '../../membership/members.ts';
import { isTrustedCaller } from '../../services/shared/caller.ts';
import { isJson, isOctets, maxJsonBytes, maxStrangerBytes, readBody } from '../request-body.ts';
import { checkNamedProjects } from '../restricted.ts';
import type { AppDeps } from './app-deps.ts';
import type { ResolvedRequest } from './resolve.ts';

export interface OnThisMember {
  readonly body: unknown;
}

export interface OnMember {
  readonly member: Member;
  /** The body, if it was already read. */
  readonly body?: unknown;
  /** Number of members that have forwarded the request. */
  readonly hops?: number;
}

/** A forwarded request is not forwarded again. */
export const isRouted = ({ cluster }: AppDeps, { identity }: ResolvedRequest): boolean =>
  cluster.isOn && identity.isForwarded !== true;

/** Throws AppError if this member refuses the request and no other carries it out. */
export async function locate(deps: AppDeps, resolved: ResolvedRequest): Promise<OnThisMember | OnMember> {
  const { cluster, placing } = deps;
  const { asked, endpoint, identity, query } = resolved;
  const routed = isRouted(deps, resolved);
  if (routed && cluster.routing.dependsOnOthers(asked)) await cluster.readBarrier();
  const owner = routed ? cluster.routing.memberFor(asked) : undefined;
  if (owner !== undefined) return { member: owner };
  const needsStore = endpoint.method !== 'GET' && endpoint.needsStore !== false;
  const takesChange = !needsStore || (await cluster.takesChanges());
  const refusal = takesChange ? deps.refusal(endpoint) : cluster.refusal();
  const isPlaced = routed && endpoint.placedBy === 'body';
  // A problem of this member alone does not keep another one from creating a container.
  if (refusal !== undefined && !(isPlaced && takesChange)) throw refusal;
  const body = await bodyOf(deps, resolved);
  checkNamedProjects(identity.caller, body);
  const place = isPlaced
    ? placing.memberFor(identity.caller, query['target'] ?? '', body as ContainerCreate | undefined)
    : undefined;
  if (place !== undefined) return { member: place, body };
  if (refusal !== undefined) throw refusal;
  return { body };
}

async function bodyOf({ dialect }: AppDeps, { endpoint, identity, request }: ResolvedRequest): Promise<unknown> {
  if (endpoint.body === undefined || hasOwnBody(endpoint, request.raw)) return undefined;
  const limit = isTrustedCaller(identity.caller) ? maxJsonBytes : maxStrangerBytes;
  return readBody(request.raw, endpoint.body, dialect, limit);
}

const hasOwnBody = ({ ownBody }: Endpoint, request: IncomingMessage): boolean =>
  (ownBody === 'files' && !isJson(request)) || (ownBody === 'octets' && isOctets(request));
