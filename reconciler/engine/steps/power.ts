// Starts, stops and restarts a container. A container that is already in the wanted state needs nothing.
import type { ContainerStatePut } from '../../../server/api/container/container.ts';
import { statusCodes } from '../../../server/api/status.ts';
import { ClientError, hasUnknownOutcome, isNotFound } from '../../../server/client/client-error.ts';
import { assertNever } from '../../../server/lib/shared/assert-never.ts';
import type { PowerStep } from '../../core/plan/plan.ts';
import { sendAndWait, type Note, type StepContext } from './context.ts';

export async function changePower(context: StepContext, step: PowerStep, signal: AbortSignal): Promise<Note> {
  try {
    return await attempt(context, step, signal);
  } catch (error) {
    signal.throwIfAborted();
    const done = alreadySo(step, error);
    if (done !== undefined) return done;
    // The state does not show whether a restart happened, and a second restart would be harmful.
    if (step.action === 'restart' || !hasUnknownOutcome(error)) throw error;
    return attempt(context, step, signal);
  }
}

/** Another client was faster, such as a daemon that autostarts its containers. */
function alreadySo(step: PowerStep, error: unknown): Note {
  if (!(error instanceof ClientError)) return undefined;
  if (step.action === 'start' && error.refusals.has('alreadyRunning')) return 'it was already running';
  return step.action === 'stop' && error.refusals.has('alreadyStopped') ? 'it was already stopped' : undefined;
}

async function attempt(context: StepContext, step: PowerStep, signal: AbortSignal): Promise<Note> {
  const before = await statusOf(context, step, signal);
  switch (step.action) {
    case 'start':
      if (before === statusCodes.running) return 'it was already running';
      return changeState(context, step, { action: before === statusCodes.frozen ? 'unfreeze' : 'start' }, signal);
    case 'stop':
      if (before === undefined || before === statusCodes.stopped) return 'it was already stopped';
      return interrupt(context, step, 'stop', signal);
    case 'restart':
      if (before === statusCodes.stopped) return changeState(context, step, { action: 'start' }, signal);
      // A frozen container cannot shut down by itself.
      if (before === statusCodes.frozen) await changeState(context, step, { action: 'unfreeze' }, signal);
      return interrupt(context, step, 'restart', signal);
    default:
      return assertNever(step.action);
  }
}

/** Stops cleanly within the grace period, then, if allowed, by force. */
async function interrupt(
  context: StepContext,
  step: PowerStep,
  action: 'stop' | 'restart',
  signal: AbortSignal,
): Promise<Note> {
  if (step.force === 'at-once') return changeState(context, step, { action, force: true }, signal);
  // The API takes whole seconds, and 0 would mean force.
  const timeout = Math.max(1, Math.ceil(step.graceMs / 1000));
  try {
    return await changeState(context, step, { action, timeout }, signal);
  } catch (error) {
    signal.throwIfAborted();
    const isTooSlow = error instanceof ClientError && error.code === 'operationFailed';
    if (step.force === 'never' || !isTooSlow) throw error;
  }
  const status = await statusOf(context, step, signal);
  if (status === undefined || status === statusCodes.stopped) {
    return action === 'stop' ? undefined : changeState(context, step, { action: 'start' }, signal);
  }
  context.onProgress(`no clean ${action} in ${timeout} s, killing it`);
  await changeState(context, step, { action, force: true }, signal);
  return `killed: no clean ${action} in ${timeout} s`;
}

async function changeState(
  context: StepContext,
  step: PowerStep,
  body: ContainerStatePut,
  signal: AbortSignal,
): Promise<undefined> {
  await sendAndWait(context, () => context.client.putContainerState(step.name, body, signal), signal);
}

/** Undefined when the container is gone: an ephemeral container is deleted when it stops. */
async function statusOf(context: StepContext, step: PowerStep, signal: AbortSignal): Promise<number | undefined> {
  try {
    return (await context.client.containerState(step.name, signal)).metadata.status_code;
  } catch (error) {
    if (step.action === 'stop' && isNotFound(error)) return undefined;
    throw error;
  }
}
