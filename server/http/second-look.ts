// A container may be missing, or a name taken, only in this member's view: before such a refusal is sent, it is checked against everything
// that the others have acknowledged.
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
  /** The part of its body that was read. */
  readonly body: unknown;
  /** Whether another member forwarded it. */
  readonly isForwarded: boolean;
}

/** Repeats the request: here, or at the member that has the container now. */
export type SecondLook = { readonly at: 'here' } | { readonly at: Member };

/** Max hops of a request for a moving container: each move adds one. */
const maxHops = 4;

/** These errors come before any change. Throws the error, or AppError unavailable if the store cannot confirm it. */
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
  const name = asked.params['name'] ?? (error as AppError).missing?.name ?? '';
  const isPublished = endpoint.placedBy === 'source';
  const member = isPublished ? cluster.routing.memberOfContainer(name) : cluster.routing.memberFor(asked);
  if (isPublished && refused.body === undefined) throw member === undefined ? error : untyped(name, member);
  if (member === undefined) return { at: 'here' };
  if (!canBeSentAgain(refused) || hopsOf(refused) >= maxHops) throw errors.moved(name);
  return { at: member };
}

/** The body was read as the upload that it might have been. */
const untyped = (container: string, { name }: Member): AppError =>
  errors.badRequest(
    `The container ${plainName(container)} is on the member ${name}: send the request with the content type application/json`,
  );

export function hopsOf({ request, isForwarded }: Pick<RefusedRequest, 'request' | 'isForwarded'>): number {
  return isForwarded ? Number(request.headers[hopsHeader] ?? 1) : 0;
}

/** A missing snapshot or file does not depend on other members. */
function isAboutContainer({ endpoint, params }: RoutedRequest, error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  if (endpoint.placedBy === 'body') return error.code === 'exists';
  if (endpoint.placedBy === 'source') return error.missing?.kind === 'container';
  if (!endpoint.path.startsWith('/1.0/containers/:name')) return false;
  const { name = '' } = params;
  return error.missing?.kind === 'container' && [name, plainName(name)].includes(error.missing.name);
}

/** A stream was read in part. */
function canBeSentAgain({ body, request: { headers } }: RefusedRequest): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return body !== undefined || !hasBody;
}
