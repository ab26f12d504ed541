// The entry of a run in the history of its set: documents without secrets, author, message and git commit.
import type { Document } from '../../core/documents/document.ts';
import { valueAt } from '../../core/plan/apply-edits.ts';
import { defaultLimits, type WrittenDocument } from '../../core/history/revisions.ts';
import { fillSecrets } from '../../core/history/revision-secrets.ts';
import type { RevisionNotes } from '../../engine/runs/history.ts';
import type { Context } from './context.ts';
import { commitOf } from './git-commit.ts';
import { parseNumber } from '../flags/parse-values.ts';
import type { RunOptions } from '../flags/plan-flags.ts';
import type { SetPlan } from './plan.ts';
import { usageError } from '../errors/usage-error.ts';

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
  { plan, owner, images, revision }: SetPlan,
): Promise<RevisionNotes | undefined> {
  if (revision === undefined) return undefined;
  const [{ RevisionNotes }, { cutWritten }, { whoAmI }, commit] = await Promise.all([
    import('../../engine/runs/history.ts'),
    import('../../engine/runs/cut-written.ts'),
    import('../../engine/notes/lock.ts'),
    commitOf(revision.paths, context.io.env, context.stop),
  ]);
  const planned = new Set<string>(plan.changes.map(({ address }) => address));
  const written = revision.written.filter(({ address }) => planned.has(address));
  const message = messageOf(context) ?? revision.message;
  const limit = parseNumber('--history-limit', context.options.historyLimit);
  return new RevisionNotes(owner.set, {
    who: whoAmI(),
    ...(message === undefined ? {} : { message }),
    ...(commit === undefined ? {} : { commit }),
    ...(owner.place === undefined ? {} : { place: owner.place.here }),
    // `gantry run` rolls out more than once with the same scope.
    ...(revision.onlyNew === true || context.host?.rollout === undefined ? {} : { rollout: context.host.rollout }),
    ...(revision.onlyNew === true ? { onlyNew: true } : {}),
    ...(revision.rollbackOf === undefined ? {} : { rollbackOf: revision.rollbackOf }),
    isPartial: plan.isPartial === true || written.length < revision.written.length,
    documents: cutWritten(written, owner.hash),
    images: Object.fromEntries(images),
    ...(limit === undefined ? {} : { limits: { ...defaultLimits, revisions: limit } }),
  });
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
