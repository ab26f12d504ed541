// Keeps web pages from acting with a user's certificate.
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { errors } from '../../api/errors.ts';
import { originProblem } from '../../auth/origin.ts';
import { labelOf } from '../answer.ts';

/** Throws AppError forbidden. A connection without TLS is not a browser's. */
export function checkOrigin(allowed: string, request: IncomingMessage, isEffective: boolean): void {
  if (!(request.socket instanceof TLSSocket)) return;
  const { origin, host } = request.headers;
  const problem = originProblem({ origin, host, isEffective, allowed });
  if (problem !== undefined) throw errors.forbidden(`${labelOf(request)} is refused: ${problem}`);
}
