// Tells failures whose request may have taken effect from those where it did not.
import { ClientError, remedyFor } from '../../../server/client/client-error.ts';

/** The connection broke, no answer came in time, or the operation was forgotten: only reading the object tells. */
export function hasUnknownOutcome(error: unknown): boolean {
  if (!(error instanceof ClientError)) return false;
  return error.code === 'operationLost' || (error.status === 0 && remedyFor(error, false) === 'reread');
}
