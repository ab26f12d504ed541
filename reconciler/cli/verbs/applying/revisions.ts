// Finds revisions of a set on its server and reads their documents; errors list the existing revisions.
import type { Client } from '../../../../server/client/client.ts';
import {
  documentsText,
  readHistory,
  setsWithHistory,
  type Revision,
  type WrittenDocument,
} from '../../../core/history/revisions.ts';
import { isNamed } from '../../../core/history/fleet-revision.ts';
import { unpackDocuments } from '../../../engine/runs/history.ts';
import { lockIn } from '../../../engine/notes/lock.ts';
import type { NotesConfig } from '../../../engine/notes/notes.ts';
import { readNotes } from '../../../engine/notes/set-notes.ts';
import type { Context } from '../../session/context.ts';
import type { HistoryOptions } from './applying-verbs.ts';
import { parseCount } from '../../flags/parse-values.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';

export interface Revisions {
  readonly set: string;
  readonly config: NotesConfig;
  /** Oldest first. */
  readonly all: readonly Revision[];
  /** The revisions are in a profile of the project, which its clients may write. */
  readonly isInProfile: boolean;
}

export async function readRevisions(
  context: Context<HistoryOptions>,
  client: Pick<Client, 'server' | 'get'>,
): Promise<Revisions> {
  const set = setNameOf(context.options, []);
  const { config, isInProfile } = await readNotes(client, context.options.project, context.stop);
  const all = readHistory(config, set).revisions;
  const others = setsWithHistory(config).filter((name) => name !== set);
  if (all.length === 0 && others.length > 0)
    context.note(`The set ${set} has no revisions; these have: ${others.join(', ')} (--set)`);
  return { set, config, all, isInProfile: isInProfile(set) };
}

/** A `running` revision is in progress only while its run holds the lock. */
export function outcomeOf({ config, set }: Revisions, { outcome, run, failed }: Revision): string {
  if (outcome === 'running') return lockIn(config, set)?.id === run ? 'in progress' : 'broken off';
  return outcome === 'failed' ? `failed (${failed ?? 0})` : outcome;
}

export function parseRevision(text: string): number {
  const number = parseCount('revision', text.replace(/^#/, ''));
  if (number === undefined) throw usageError('name a revision, as in gantry history show 3');
  return number;
}

export function revisionAt({ all, set }: Revisions, number: number): Revision {
  const found = all.find((one) => one.number === number);
  if (found !== undefined) return found;
  const [first, last] = [all[0]?.number, all.at(-1)?.number];
  const known =
    first === undefined ? 'it has none' : first === last ? `it has ${first}` : `it has ${first} to ${String(last)}`;
  throw commandError(`The set ${set} has no revision ${number}: ${known} (gantry history)`);
}

/** The newest successful revision with this commit or message. */
export function revisionNamed({ all, set }: Revisions, text: string): Revision {
  const found = all.findLast((one) => one.outcome === 'done' && one.mode === 'apply' && isNamed(text)(one));
  if (found !== undefined) return found;
  throw commandError(
    `The set ${set} has no revision with the commit or message ${JSON.stringify(text)} that succeeded (gantry history)`,
  );
}

/** Throws when they are missing or damaged. */
export function documentsOf({ config, set }: Revisions, revision: Revision): readonly WrittenDocument[] {
  const { number, documents, mode, commit } = revision;
  const elsewhere = commit === undefined ? '' : `; its manifests were at commit ${commit}`;
  if (mode === 'destroy') throw commandError(`Revision ${number} is a destroy: it has no documents`);
  const text = documents === undefined ? undefined : documentsText(config, set, documents);
  if (documents === undefined || text === undefined) {
    const why = `The documents of revision ${number} were dropped to make room for newer ones`;
    throw commandError(`${why}${elsewhere}`);
  }
  try {
    return unpackDocuments(text, documents);
  } catch (error) {
    const why = reasonOf(error);
    throw commandError(`The documents of revision ${number} are damaged (${why})${elsewhere}`, error);
  }
}
