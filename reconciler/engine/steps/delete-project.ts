// Deletes a project in which nothing is left but the notes that its own clients made about their sets. Nothing is deleted while one of
// them is at work, and the notes come back when the server refuses.
import { lockedSet } from '../notes/lock.ts';
import { ProjectNotes } from '../notes/project-notes.ts';
import { contentsOf, isNotesUrl } from '../../core/kinds/project.ts';
import type { DeleteStep } from '../../core/plan/plan.ts';
import { deleteObject } from './delete.ts';
import type { Note, StepContext } from './context.ts';

export async function deleteProject(context: StepContext, step: DeleteStep, signal: AbortSignal): Promise<Note> {
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
    // Also after a cancelled run: without them the clients of the project would lose what they own.
    await notes.restore(read, AbortSignal.timeout(10_000)).catch(() => undefined);
    throw error;
  }
}

async function holdsOnlyNotes({ client }: StepContext, name: string, signal: AbortSignal): Promise<boolean> {
  try {
    const contents = contentsOf((await client.get('project', name, signal)).metadata);
    return contents.length > 0 && contents.every(isNotesUrl);
  } catch {
    // The deletion that follows says what is wrong.
    return false;
  }
}
