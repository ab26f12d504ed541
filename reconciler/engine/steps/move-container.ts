// Moves a stopped container to another member of the cluster, before the other edits of its step are written.
import { hasUnknownOutcome, isNotFound } from '../../../server/client/client-error.ts';
import { pathOf } from '../../../server/client/kind-paths.ts';
import { asText } from '../../core/documents/json-values.ts';
import { isMove } from '../../core/live/placement.ts';
import type { UpdateStep } from '../../core/plan/plan.ts';
import { sendAndWait, StaleError, type StepContext } from './context.ts';
import { waitForRunning } from '../running-operations.ts';

/** Returns the rest of the step. A container that is there already, from an earlier run, does not move again. */
export async function moveFirst(context: StepContext, step: UpdateStep, signal: AbortSignal): Promise<UpdateStep> {
  const move = step.kind === 'container' ? step.edits.find(isMove) : undefined;
  if (move === undefined) return step;
  const rest = { ...step, edits: step.edits.filter((edit) => edit !== move) };
  const [from, to] = [asText(move.before), asText(move.after)];
  const now = await locationOf(context, step.name, signal);
  if (now === to) return rest;
  if (now !== from) throw new StaleError(`someone moved it to ${now} since the plan was made`);
  context.onProgress(`moving from ${from} to ${to}`);
  const path = pathOf('container', step.name);
  const json = { name: step.name, migration: true };
  const send = () => context.client.http.send<unknown>({ method: 'POST', path, query: { target: to }, json }, signal);
  try {
    await sendAndWait(context, send, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!hasUnknownOutcome(error)) throw error;
    await waitForRunning(context.client, 'container', step.name, signal);
    if ((await locationOf(context, step.name, signal)) !== to) throw error;
  }
  return rest;
}

async function locationOf({ client }: StepContext, name: string, signal: AbortSignal): Promise<string> {
  const found = await client.get('container', name, signal).catch((error: unknown) => {
    throw isNotFound(error) ? new StaleError('it no longer exists', { cause: error }) : error;
  });
  return found.metadata.location;
}
