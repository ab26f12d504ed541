// Tells whether others changed an object since the plan, and repeats a write that another one overtook.
import { hasUnknownOutcome, isNotFound, isPreconditionFailed } from '../../../server/client/client-error.ts';
import { stalePaths } from '../../core/plan/apply-edits.ts';
import type { UpdateStep } from '../../core/plan/plan.ts';
import { StaleError, type StepContext } from './context.ts';

const attempts = 5;
/** A random pause, so that concurrent writers stop colliding. */
const overtakenPauseMs = 20;
const keepsChanging = `others keep changing it: ${attempts} writes in a row met a newer version`;

/** Pauses if the write may be repeated after another read. Throws if it may not, or not again. */
export async function pauseIfOvertaken(
  context: StepContext,
  error: unknown,
  attempt: number,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  // A conflict or an unknown outcome: the next read shows the state.
  const isOvertaken = isPreconditionFailed(error);
  if (!isOvertaken && !hasUnknownOutcome(error)) throw error;
  if (attempt < attempts) await context.pause(overtakenPauseMs * attempt, signal);
  else throw isOvertaken ? new StaleError(keepsChanging, { cause: error }) : error;
}

export function refuseStale(live: object, step: UpdateStep): void {
  const stale = stalePaths(live, step);
  if (stale.length > 0) throw new StaleError(`someone changed it since the plan was made: ${stale.join(', ')}`);
}

export function staleIfGone(error: unknown): never {
  throw isNotFound(error) ? new StaleError('it no longer exists', { cause: error }) : error;
}
