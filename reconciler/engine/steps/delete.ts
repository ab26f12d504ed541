// Deletes an object. A missing object counts as deleted; a container that was started since the plan is stopped first.
import { hasUnknownOutcome, isNotFound, isRefused } from '../../../server/client/client-error.ts';
import type { DeleteStep } from '../../core/plan/plan.ts';
import { sendAndWait, type Note, type StepContext } from './context.ts';

export async function deleteObject(context: StepContext, step: DeleteStep, signal: AbortSignal): Promise<Note> {
  const { client } = context;
  try {
    await sendAndWait(context, () => client.delete(step.kind, step.name, signal, step.target), signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (hasUnknownOutcome(error)) {
      if (await isGone(context, step, signal)) return undefined;
      throw error;
    }
    if (isNotFound(error)) return 'it was already gone';
    if (step.kind !== 'container' || !isRefused(error, 'running')) throw error;
  }
  // A daemon that just started starts its containers one after another, perhaps this one only after the plan.
  await sendAndWait(
    context,
    () => client.putContainerState(step.name, { action: 'stop', force: true }, signal),
    signal,
  );
  await sendAndWait(context, () => client.delete(step.kind, step.name, signal, step.target), signal);
  return 'it was running again and was stopped first';
}

async function isGone(context: StepContext, step: DeleteStep, signal: AbortSignal): Promise<boolean> {
  try {
    await context.client.get(step.kind, step.name, signal, step.target);
    return false;
  } catch (error) {
    return isNotFound(error);
  }
}
