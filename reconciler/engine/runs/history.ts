// Records the revision of a run in the set's history, in the same writes to the server as its lock; packs and unpacks the documents.
import { createHash } from 'node:crypto';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import {
  addRevision,
  changesOf,
  defaultLimits,
  documentsText,
  dropOldHistories,
  nextNumber,
  readHistory,
  refusedOf,
  type RevisionLimits,
  type Revision,
  type WrittenDocument,
} from '../../core/history/revisions.ts';
import { hasNotesOf } from '../../core/ownership/project-notes.ts';
import type { Plan } from '../../core/plan/plan.ts';
import { summarize } from '../../core/plan/summary.ts';
import type { RunResult } from '../run-result.ts';
import type { RunNotes } from './set-run.ts';
import type { NotesConfig, Patch } from '../notes/notes.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** The user, the message and the origin of the run. */
export interface RevisionDraft extends Pick<
  Revision,
  'who' | 'message' | 'commit' | 'place' | 'rollout' | 'rollbackOf' | 'images'
> {
  /** True when the run left out objects. */
  readonly isPartial: boolean;
  /** The documents without secrets. */
  readonly documents: readonly WrittenDocument[];
  readonly limits?: RevisionLimits;
  /** Adds no revision when the newest one has the same documents. */
  readonly onlyNew?: boolean;
}

export class RevisionNotes implements RunNotes {
  readonly #set: string;
  readonly #draft: RevisionDraft;
  readonly #packed: { readonly hash: string; readonly text: string } | undefined;
  readonly #limits: RevisionLimits;
  #revision: Revision | undefined;
  #isRefused = false;

  constructor(set: string, draft: RevisionDraft) {
    this.#set = set;
    this.#draft = draft;
    this.#limits = draft.limits ?? defaultLimits;
    this.#packed = this.#limits.revisions === 0 ? undefined : packDocuments(draft.documents);
  }

  /** Its number, once the run has begun. */
  get number(): number | undefined {
    return this.#revision?.number;
  }

  opened(config: NotesConfig, plan: Plan, run: string, atMs: number): Patch {
    const { who, message, commit, place, rollout, rollbackOf, images, isPartial } = this.#draft;
    const documents = plan.mode === 'apply' ? this.#packed : undefined;
    const newest = readHistory(config, this.#set).revisions.at(-1);
    if (this.#draft.onlyNew === true && newest?.documents === documents?.hash) return {};
    // Guards kept some objects unchanged.
    const { add, change, destroy } = summarize(plan.changes.filter(({ steps }) => steps.length > 0));
    const refused = refusedOf(plan);
    this.#isRefused = refused.length > 0;
    this.#revision = {
      number: nextNumber(readHistory(config, this.#set)),
      run,
      at: new Date(atMs).toISOString(),
      who,
      mode: plan.mode,
      outcome: 'running',
      ...withoutUndefined({ message, commit, place, rollout, rollbackOf }),
      ...(isPartial ? { isPartial } : {}),
      counts: { add, change, destroy },
      changes: changesOf(plan),
      ...(refused.length === 0 ? {} : { refused }),
      ...(documents === undefined ? {} : { documents: documents.hash }),
      images,
    };
    const isKept = documents !== undefined && documentsText(config, this.#set, documents.hash) !== undefined;
    return addRevision(config, this.#set, this.#revision, isKept ? undefined : documents?.text, this.#limits);
  }

  closed(config: NotesConfig, result: RunResult | undefined, isSetRemoved: boolean): Patch {
    const isGone = (set: string): boolean => set !== this.#set && !hasNotesOf(config, set);
    const dropped = isSetRemoved ? dropOldHistories(config, isGone) : {};
    const kept = readHistory(config, this.#set).revisions.find(({ number }) => number === this.#revision?.number);
    if (kept === undefined) return dropped;
    const failed = result?.failures.length ?? 0;
    const outcome =
      result === undefined || failed > 0
        ? 'failed'
        : result.isInterrupted
          ? 'interrupted'
          : this.#isRefused
            ? 'partial'
            : 'done';
    const ended: Revision = { ...kept, outcome, ...(failed === 0 ? {} : { failed }) };
    return { ...dropped, ...addRevision(config, this.#set, ended, undefined, this.#limits) };
  }
}

/** Equal documents give equal texts. */
export function packDocuments(documents: readonly WrittenDocument[]): { readonly hash: string; readonly text: string } {
  const json = JSON.stringify(documents);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 7 };
  const text = brotliCompressSync(Buffer.from(json), { params }).toString('base64');
  return { hash: createHash('sha256').update(json).digest('hex').slice(0, 16), text };
}

/** Anyone may write the config, so the unpacked size is limited. */
const maxBytes = 64 * 1024 * 1024;

/** Throws an Error when the text is damaged. */
export function unpackDocuments(text: string, hash: string): readonly WrittenDocument[] {
  const json = brotliDecompressSync(Buffer.from(text, 'base64'), { maxOutputLength: maxBytes }).toString('utf8');
  if (createHash('sha256').update(json).digest('hex').slice(0, 16) !== hash) throw new Error('its hash does not match');
  return JSON.parse(json) as readonly WrittenDocument[];
}
