// Deletes an object; that it is gone already counts as done.
import { ClientError, isNotFound, remedyFor } from '../../../server/client/client-error.ts';
import type { DeleteStep } from '../../core/plan.ts';
import { perform, type Note, type StepContext } from './context.ts';

export async function deleteObject(context: StepContext, step: DeleteStep, signal: AbortSignal): Promise<Note> {
  const { client } = context;
  try {
    await perform(context, () => client.delete(step.kind, step.name, signal), signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (isNotFound(error) && !isLost(error)) return 'it was already gone';
    if (!isLost(error) && !isBroken(error)) throw error;
    if (await isGone(context, step, signal)) return undefined;
    throw error;
  }
}

const isLost = (error: unknown): boolean => error instanceof ClientError && error.code === 'operationLost';
const isBroken = (error: unknown): boolean =>
  error instanceof ClientError && error.status === 0 && remedyFor(error, false) === 'reread';

async function isGone(context: StepContext, step: DeleteStep, signal: AbortSignal): Promise<boolean> {
  try {
    await context.client.get(step.kind, step.name, signal);
    return false;
  } catch (error) {
    return isNotFound(error);
  }
}
