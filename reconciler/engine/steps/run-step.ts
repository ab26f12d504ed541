// Runs one step by the function of its action, and delays a step while an operation of an earlier run is still running on its object.
import type { Step } from '../../core/plan/plan.ts';
import { isRefused, remedyFor } from '../../../server/client/client-error.ts';
import { waitFor } from '../../../server/client/wait/wait-for.ts';
import { plainName } from '../../core/text/scoped-name.ts';
import { assertNever } from '../../../server/lib/shared/assert-never.ts';
import type { Note, StepContext } from './context.ts';
import { createImage } from './create-image.ts';
import { createRemoteImage } from './create-remote-image.ts';
import { createObject } from './create.ts';
import { deleteObject } from './delete.ts';
import { deleteProject } from './delete-project.ts';
import { waitForRunning } from '../running-operations.ts';
import { changePower } from './power.ts';
import { pushFiles } from './push-files.ts';
import { rebuild } from './rebuild.ts';
import { runExec } from './run-exec.ts';
import { takeSnapshot } from './take-snapshot.ts';
import { updateObject } from './update.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

const attempts = 5;
const pauseMs = 100;
const overloadPauseMs = 500;

/** An operation outlives its client, so the next run may meet it. */
export async function runStep(given: StepContext, planned: Step, signal: AbortSignal): Promise<Note> {
  given.permit?.(planned);
  const { context, step } = inItsProject(given, planned);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await dispatch(context, step, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (attempt >= attempts) throw error;
      if (isRefused(error, 'busy')) {
        context.onProgress('waiting for another operation on it');
        await waitForRunning(context.client, step.kind, step.name, signal);
        await context.pause(pauseMs, signal);
      } else if (isRefused(error, 'overloaded')) {
        // The server's database was too busy; the server undoes the failed operation.
        context.onProgress(`the server is busy, trying again: ${reasonOf(error)}`);
        await context.pause(overloadPauseMs * 2 ** attempt, signal);
      } else if (remedyFor(error, false) === 'retry') {
        // The request did not reach a ready server, so it had no effect.
        context.onProgress(`trying again: ${reasonOf(error)}`);
        await context.pause(pauseMs * 2 ** attempt, signal);
      } else throw error;
    }
  }
}

/** For an object outside the connection's project: the context of its project, and its name there. */
function inItsProject(context: StepContext, step: Step): { readonly context: StepContext; readonly step: Step } {
  const { project } = step;
  if (project === undefined) return { context, step };
  const client = context.client.inProject(project);
  return { context: { ...context, client }, step: { ...step, name: plainName(step.name, project) } };
}

/** By the action of the step. */
function dispatch(context: StepContext, step: Step, signal: AbortSignal): Promise<Note> {
  switch (step.action) {
    case 'create':
      if (step.upload !== undefined) return createImage(context, step, step.upload, signal);
      return (step.kind === 'image' ? createRemoteImage : createObject)(context, step, signal);
    case 'update':
      return updateObject(context, step, signal);
    case 'rebuild':
      return rebuild(context, step, (one) => runStep(context, one, signal), signal);
    case 'delete':
      return (step.kind === 'project' ? deleteProject : deleteObject)(context, step, signal);
    case 'start':
    case 'stop':
    case 'restart':
      return changePower(context, step, signal);
    case 'wait':
      return waitFor(context, step.name, step.condition, signal).then(() => undefined);
    case 'files':
      return pushFiles(context, step, signal);
    case 'exec':
      return runExec(context, step, signal);
    case 'snapshot':
      return takeSnapshot(context, step, signal);
    default:
      return assertNever(step);
  }
}
