// The history entry of a run: documents without secrets, author, message and git commit.
import type { Document } from '../../core/documents/document.ts';
import { valueAt } from '../../core/plan/apply-edits.ts';
import { defaultLimits, type WrittenDocument } from '../../core/history/revisions.ts';
import { fillSecrets } from '../../core/history/revision-secrets.ts';
import type { PlaceText } from '../../core/ownership/place.ts';
import type { RevisionNotes } from '../../engine/runs/history.ts';
import type { RevisionFacts } from '../../engine/runs/notes-of.ts';
import type { Context } from './context.ts';
import { commitOf } from './git-commit.ts';
import { parseNumber } from '../flags/parse-values.ts';
import type { RunOptions } from '../flags/plan-flags.ts';
import type { RevisionSource, SetPlan } from './plan.ts';
import { usageError } from '../errors/usage-error.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const longestMessage = 1000;

/** `--message`, checked before anything is read. */
export function messageOf({ options }: Context<RunOptions>): string | undefined {
  const { message } = options;
  if (message !== undefined && message.length > longestMessage)
    throw usageError(`--message has ${message.length} characters; the limit is ${longestMessage}`);
  parseNumber('--history-limit', options.historyLimit);
  return message;
}

export async function revisionNotes(
  context: Context<RunOptions>,
  planned: SetPlan,
): Promise<RevisionNotes | undefined> {
  const { owner, revision } = planned;
  if (revision === undefined) return undefined;
  const { notesOf } = await import('../../engine/runs/notes-of.ts');
  const { rollout } = context.host ?? {};
  return notesOf(planned, revision.written, {
    ...(await revisionFacts(context, { ...revision, place: owner.place?.here })),
    ...withoutUndefined({ rollout, rollbackOf: revision.rollbackOf }),
  });
}

/** Who runs it, and why, and the commit of the manifests at `paths`. */
export async function revisionFacts(
  context: Context<RunOptions>,
  origin: Pick<RevisionSource, 'paths' | 'message'> & { readonly place: PlaceText | undefined },
): Promise<RevisionFacts> {
  const { whoAmI } = await import('../../engine/notes/lock.ts');
  const commit = await commitOf(origin.paths, context.io.env, context.stop);
  const message = messageOf(context) ?? origin.message;
  const limit = parseNumber('--history-limit', context.options.historyLimit);
  return {
    who: whoAmI(),
    ...withoutUndefined({ message, commit, place: origin.place }),
    ...(limit === undefined ? {} : { limits: { ...defaultLimits, revisions: limit } }),
  };
}

/** Restores secrets from documents that have them. */
export function filledFrom(
  written: readonly WrittenDocument[],
  documents: readonly Document[],
): ReturnType<typeof fillSecrets> {
  const byAddress = new Map<string, Document>(documents.map((document) => [document.address, document]));
  return fillSecrets(written, (address, path) => {
    const document = byAddress.get(address);
    return document === undefined ? undefined : valueAt(document.values, path);
  });
}
