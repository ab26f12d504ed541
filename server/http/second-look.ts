// A container that was not found, or a name that was taken, may be so only in what this member knew: before such a refusal is answered,
// it is held against what the others have acknowledged meanwhile.
import type { IncomingMessage } from 'node:http';
import { AppError, errors } from '../api/errors.ts';
import { plainName } from '../api/project/project-names.ts';
import type { Cluster } from '../membership/cluster.ts';
import type { Member } from '../membership/members.ts';
import { hopsHeader } from '../membership/peer-headers.ts';
import type { RoutedRequest } from '../membership/routing.ts';

export interface RefusedRequest {
  readonly asked: RoutedRequest;
  readonly request: Pick<IncomingMessage, 'headers'>;
  /** What was read of its body. */
  readonly body: unknown;
  /** Whether another member passed it on. */
  readonly isForwarded: boolean;
}

/** The same request again: here, or at the member that has the container now. */
export type SecondLook = { readonly at: 'here' } | { readonly at: Member };

/** Max hops of a request for a container that moves meanwhile: each move is one more. */
const maxHops = 4;

/** Nothing was done yet for these errors. Throws the error, or AppError unavailable when the store does not say whether it holds. */
export async function lookAgain(
  cluster: Pick<Cluster, 'isOn' | 'readBarrier' | 'routing'>,
  refused: RefusedRequest,
  error: unknown,
): Promise<SecondLook> {
  const { asked } = refused;
  const { endpoint } = asked;
  if (!cluster.isOn || !isAboutContainer(asked, error)) throw error;
  if (!(await cluster.readBarrier())) {
    if (endpoint.method === 'GET') throw error;
    throw errors.unavailable(
      `The store of the cluster does not answer, so this may be out of date: ${(error as AppError).message}`,
      error,
    );
  }
  if (endpoint.placedBy === 'body') {
    if (refused.body === undefined) throw error;
    return { at: 'here' };
  }
  const member = cluster.routing.memberFor(asked);
  if (member === undefined) return { at: 'here' };
  if (!canBeSentAgain(refused) || hopsOf(refused) >= maxHops) throw errors.moved(asked.params['name'] ?? '');
  return { at: member };
}

/** Members that passed the request on so far. */
export function hopsOf({ request, isForwarded }: Pick<RefusedRequest, 'request' | 'isForwarded'>): number {
  return isForwarded ? Number(request.headers[hopsHeader] ?? 1) : 0;
}

/** A snapshot or file that was not found does not depend on what others do. */
function isAboutContainer({ endpoint, params }: RoutedRequest, error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  if (endpoint.placedBy === 'body') return error.code === 'exists';
  if (!endpoint.path.startsWith('/1.0/containers/:name')) return false;
  const { name = '' } = params;
  return error.missing?.kind === 'container' && [name, plainName(name)].includes(error.missing.name);
}

/** A stream has been read in part. */
function canBeSentAgain({ body, request: { headers } }: RefusedRequest): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return body !== undefined || !hasBody;
}
