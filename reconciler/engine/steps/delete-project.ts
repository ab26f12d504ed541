// Deletes a project that only contains the notes of its own clients about their sets. Deletes nothing while one of them holds a
// lock, and restores the notes if the server refuses.
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
