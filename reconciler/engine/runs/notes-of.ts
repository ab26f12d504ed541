// The notes of a run about the documents of its plan: a revision in the history of the set.
import type { WrittenDocument } from '../../core/history/revisions.ts';
import { cutWritten } from './cut-written.ts';
import { RevisionNotes, type RevisionDraft } from './history.ts';
import type { MadePlan } from './make-plan.ts';

/** User, message and origin of the run. */
export type RevisionFacts = Omit<RevisionDraft, 'isPartial' | 'documents' | 'images'>;

/** `written`: all documents, with their secrets. */
export function notesOf(
  { plan, owner, images }: MadePlan,
  written: readonly WrittenDocument[],
  facts: RevisionFacts,
): RevisionNotes {
  const planned = new Set<string>(plan.changes.map(({ address }) => address));
  const kept = written.filter(({ address }) => planned.has(address));
  return new RevisionNotes(owner.set, {
    ...facts,
    isPartial: plan.isPartial === true || kept.length < written.length,
    documents: cutWritten(kept, owner.hash),
    images: Object.fromEntries(images),
  });
}
