// Distinguishes failures whose request may have taken effect from those without effect.
import { ClientError, remedyFor } from '../../../server/client/client-error.ts';

/** The connection broke, no answer came in time, or the server lost the operation: only a read of the object shows the outcome. */
export function hasUnknownOutcome(error: unknown): boolean {
  if (!(error instanceof ClientError)) return false;
  return error.code === 'operationLost' || (error.status === 0 && remedyFor(error, false) === 'reread');
}
