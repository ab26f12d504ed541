// Deletes an object; that it is gone already counts as done.
import { isNotFound } from '../../../server/client/client-error.ts';
import type { DeleteStep } from '../../core/plan.ts';
import { perform, type Note, type StepContext } from './context.ts';
import { hasUnknownOutcome } from './unknown-outcome.ts';

export async function deleteObject(context: StepContext, step: DeleteStep, signal: AbortSignal): Promise<Note> {
  const { client } = context;
  try {
    await perform(context, () => client.delete(step.kind, step.name, signal), signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (hasUnknownOutcome(error)) {
      if (await isGone(context, step, signal)) return undefined;
      throw error;
    }
    if (isNotFound(error)) return 'it was already gone';
    throw error;
  }
}

async function isGone(context: StepContext, step: DeleteStep, signal: AbortSignal): Promise<boolean> {
  try {
    await context.client.get(step.kind, step.name, signal);
    return false;
  } catch (error) {
    return isNotFound(error);
  }
}
