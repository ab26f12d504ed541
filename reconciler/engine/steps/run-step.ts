// Runs one step by the function of its action, and delays a step while an operation of an earlier run is still running on its object.
import type { Step, DeleteStep, SnapshotStep } from '../../core/plan/plan.ts';
import { isRefused, remedyFor } from '../../../server/client/client-error.ts';
import { waitFor } from '../../../server/client/wait/wait-for.ts';
import { plainName } from '../../core/text/scoped-name.ts';
import { assertNever } from '../../../server/lib/shared/assert-never.ts';
import { sendAndWait, type Note, type StepContext } from './context.ts';
import { createImage } from './create-image.ts';
import { createRemoteImage } from './create-remote-image.ts';
import { createObject } from './create.ts';
import { deleteObject } from './delete.ts';
import { waitForRunning } from '../running-operations.ts';
import { changePower } from './power.ts';
import { pushFiles } from './push-files.ts';
import { refuseTaken } from './refuse-taken.ts';
import { rebuild } from './rebuild.ts';
import { runExec } from './run-exec.ts';
import { updateObject } from './update.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { lockedSet } from '../notes/lock.ts';
import { ProjectNotes } from '../notes/project-notes.ts';
import { contentsOf, isNotesUrl } from '../../core/kinds/project.ts';
import type { Snapshot, SnapshotCreate, SnapshotPut } from '../../../server/api/container/snapshot.ts';
import { pathOf } from '../../../server/client/kind-paths.ts';
import { mayExist } from './existing.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const attempts = 5;
const pauseMs = 100;
const overloadPauseMs = 500;

/** An operation outlives its client, so the next run may meet it. */
export async function runStep(given: StepContext, planned: Step, signal: AbortSignal): Promise<Note> {
  given.permit?.(planned);
  const { context, step } = inItsProject(given, planned);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await refuseTaken(context, step, signal);
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

/** Deletes a project that contains only the notes of its clients about their sets. Refuses while one of them holds a lock;
    restores the notes if the server refuses. */
async function deleteProject(context: StepContext, step: DeleteStep, signal: AbortSignal): Promise<Note> {
  const { client, nowMs } = context;
  if (!(await holdsOnlyNotes(context, step.name, signal))) return deleteObject(context, step, signal);
  const notes = new ProjectNotes(client.inProject(step.name), step.name);
  const read = await notes.read(signal);
  const locked = lockedSet(read.config, nowMs());
  if (locked !== undefined) throw locked;
  await notes.withdraw(read, signal);
  try {
    return await deleteObject(context, step, signal);
  } catch (error) {
    // Even after a cancelled run: without the notes, the project's clients would lose their ownership.
    await notes.restore(read, AbortSignal.timeout(10_000)).catch(() => undefined);
    throw error;
  }
}

async function holdsOnlyNotes({ client }: StepContext, name: string, signal: AbortSignal): Promise<boolean> {
  try {
    const contents = contentsOf((await client.get('project', name, signal)).metadata);
    return contents.length > 0 && contents.every(isNotesUrl);
  } catch {
    // The deletion that follows reports the problem.
    return false;
  }
}

/** Takes a missing declared snapshot, or sets expiry and description of an existing one. Deletes none. */
async function takeSnapshot(context: StepContext, step: SnapshotStep, signal: AbortSignal): Promise<Note> {
  const { spec, snapshot, isNew, target } = step;
  const query = { target };
  const { http } = context.client;
  const path = `${pathOf(step.kind, step.name)}/snapshots`;
  const declared: SnapshotPut = {
    ...withoutUndefined({ expires_at: spec.expires_at, description: spec.description }),
  };
  const one = `${path}/${encodeURIComponent(snapshot)}`;
  if (!isNew) {
    // A PUT replaces all values: those that the document leaves out keep their live values.
    const { metadata } = await http.send<Partial<Snapshot>>({ method: 'GET', path: one, query }, signal);
    const json: SnapshotPut = { ...valuesOf(metadata), ...declared };
    await sendAndWait(context, () => http.send<unknown>({ method: 'PUT', path: one, query, json }, signal), signal);
    return undefined;
  }
  const json: SnapshotCreate = { name: snapshot, ...(spec.stateful === true ? { stateful: true } : {}), ...declared };
  try {
    await sendAndWait(context, () => http.send<unknown>({ method: 'POST', path, query, json }, signal), signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!mayExist(error)) throw error;
    // An earlier run created it, or the answer was lost.
    const found = await http.send<unknown>({ method: 'GET', path: one, query }, signal).catch(() => undefined);
    if (found === undefined) throw error;
    return 'it already existed';
  }
}

function valuesOf({ description = '', expires_at: until = '' }: Partial<Snapshot>): SnapshotPut {
  // Servers encode no expiry as a time in the year 1.
  return { description, ...(Date.parse(until) > 0 ? { expires_at: until } : {}) };
}
