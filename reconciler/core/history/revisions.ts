// The revisions of a set, stored on the server beside its state: an index of runs, and their documents without secrets, stored once
// per hash. Encodes, decodes and drops old revisions; pure.
import type { Address, Json, JsonObject } from '../documents/document.ts';
import { isMap, mapOf, textOf, textsOf } from '../documents/json-values.ts';
import { notePrefix } from '../ownership/owner-records.ts';
import { historyKey, historyPrefix } from '../ownership/set-state.ts';
import type { Plan } from '../plan/plan.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** `partial`: guards refused parts of the plan, and the rest was applied. */
export type RevisionOutcome = 'running' | 'done' | 'failed' | 'interrupted' | 'partial';

export interface Revision {
  readonly number: number;
  /** Id of the run that made it. */
  readonly run: string;
  /** RFC 3339. */
  readonly at: string;
  /** `root@host`. */
  readonly who: string;
  readonly mode: Plan['mode'];
  readonly outcome: RevisionOutcome;
  readonly message?: string;
  /** Commit of the work tree that holds the manifests; `+` at its end: with uncommitted changes. */
  readonly commit?: string;
  /** Where its documents are declared (ownership/place.ts). */
  readonly place?: string;
  /** The same on all hosts of one rollout. */
  readonly rollout?: string;
  /** The revision to which it rolled back. */
  readonly rollbackOf?: number;
  /** --target narrowed the run: the revision holds only the targeted documents. */
  readonly isPartial?: boolean;
  readonly counts: { readonly add: number; readonly change: number; readonly destroy: number };
  /** `+container/web1`, `~profile/web`; truncated. */
  readonly changes: readonly string[];
  /** Addresses that guards left unchanged; truncated. */
  readonly refused?: readonly string[];
  /** Count of failed steps. */
  readonly failed?: number;
  /** Hash of the documents; absent: there are none, or newer ones replaced them. */
  readonly documents?: string;
  /** The content of gantry.lock: fingerprints by alias. */
  readonly images: Readonly<Record<string, string>>;
}

/** A document as it was written, with its variables replaced; its paths are relative to `folder`. */
export interface WrittenDocument {
  readonly address: Address;
  readonly folder: string;
  /** Its flat form. References to secrets stay, secrets in clear become `{$secret: HASH}`. */
  readonly value: JsonObject;
  /** Dotted paths whose values are secret because of their source. */
  readonly secrets?: readonly string[];
  /** Images only: the files. */
  readonly fingerprint?: string;
}

export interface History {
  /** Oldest first. */
  readonly revisions: readonly Revision[];
}

export interface RevisionLimits {
  readonly revisions: number;
  /** Size of all documents together, as they are stored. */
  readonly bytes: number;
}
export const defaultLimits: RevisionLimits = { revisions: 30, bytes: 131_072 };

type Config = Readonly<Record<string, unknown>>;
type Patch = Readonly<Record<string, string>>;

const documentsPrefix = (set: string): string => `${notePrefix}documents.${set}.`;
/** Set names hold no dots, hashes neither: parts after the first end in `.1`, `.2`. */
const partKey = (set: string, hash: string, part: number): string =>
  `${documentsPrefix(set)}${hash}${part === 0 ? '' : `.${part}`}`;
const partLength = 60_000;

export const setsWithHistory = (config: Config): readonly string[] =>
  Object.keys(config)
    .filter((key) => key.startsWith(historyPrefix) && config[key] !== '')
    .map((key) => key.slice(historyPrefix.length))
    .sort();

/** An index that cannot be read counts as empty. */
export function readHistory(config: Config, set: string): History {
  const text = config[historyKey(set)];
  try {
    const value = typeof text === 'string' && text !== '' ? (JSON.parse(text) as Json) : null;
    const items = isMap(value) && value['v'] === 1 && Array.isArray(value['revisions']) ? value['revisions'] : [];
    return { revisions: (items as readonly Json[]).flatMap((item) => (isMap(item) ? (revisionOf(item) ?? []) : [])) };
  } catch {
    return { revisions: [] };
  }
}

const outcomes: readonly RevisionOutcome[] = ['running', 'done', 'failed', 'interrupted', 'partial'];

function revisionOf(value: JsonObject): Revision | undefined {
  const { n, run, at, who, message, commit, from, rollout, of, documents, failed } = value;
  if (typeof n !== 'number' || typeof at !== 'string') return undefined;
  const [add = 0, change = 0, destroy = 0] = Array.isArray(value['counts'])
    ? (value['counts'] as readonly number[])
    : [];
  return {
    number: n,
    run: textOf(run) ?? '',
    at,
    who: textOf(who) ?? '',
    mode: value['mode'] === 'destroy' ? 'destroy' : 'apply',
    outcome: outcomes.find((one) => one === value['outcome']) ?? 'running',
    ...(typeof message === 'string' ? { message } : {}),
    ...(typeof commit === 'string' ? { commit } : {}),
    ...(typeof from === 'string' ? { place: from } : {}),
    ...(typeof rollout === 'string' ? { rollout } : {}),
    ...(typeof of === 'number' ? { rollbackOf: of } : {}),
    ...(value['partial'] === true ? { isPartial: true } : {}),
    counts: { add, change, destroy },
    changes: textsOf(value['changes']),
    ...(Array.isArray(value['refused']) ? { refused: textsOf(value['refused']) } : {}),
    ...(typeof failed === 'number' ? { failed } : {}),
    ...(typeof documents === 'string' ? { documents } : {}),
    images: Object.fromEntries(
      Object.entries(mapOf(value['images'])).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    ),
  };
}

const revisionText = (one: Revision): JsonObject => ({
  n: one.number,
  run: one.run,
  at: one.at,
  who: one.who,
  mode: one.mode,
  outcome: one.outcome,
  ...withoutUndefined({
    message: one.message,
    commit: one.commit,
    from: one.place,
    rollout: one.rollout,
    of: one.rollbackOf,
  }),
  ...(one.isPartial === true ? { partial: true } : {}),
  counts: [one.counts.add, one.counts.change, one.counts.destroy],
  changes: one.changes,
  ...withoutUndefined({ refused: one.refused, failed: one.failed, documents: one.documents }),
  ...(Object.keys(one.images).length === 0 ? {} : { images: one.images }),
});

const renderIndex = (revisions: readonly Revision[]): string =>
  JSON.stringify({ v: 1, revisions: revisions.map(revisionText) });

/** The next number. Numbers are never reused while one revision is left. */
export const nextNumber = ({ revisions }: History): number => (revisions.at(-1)?.number ?? 0) + 1;

export function documentsText(config: Config, set: string, hash: string): string | undefined {
  let text = '';
  for (let part = 0; typeof config[partKey(set, hash, part)] === 'string'; part += 1)
    text += String(config[partKey(set, hash, part)]);
  return text === '' ? undefined : text;
}

/**
 * The config patch that adds a revision or replaces the one with its number. Beyond the limit of revisions the oldest are dropped, beyond
 * the limit of bytes the documents of the oldest. `text`: the documents to store under their hash, unless they are stored already.
 */
export function addRevision(
  config: Config,
  set: string,
  revision: Revision,
  text: string | undefined,
  limits: RevisionLimits,
): Patch {
  const before = readHistory(config, set).revisions.filter(({ number }) => number !== revision.number);
  const kept = limits.revisions === 0 ? [] : [...before, revision].slice(-limits.revisions);
  const known = new Map<string, number>();
  for (const { documents } of kept)
    if (documents !== undefined) known.set(documents, documentsText(config, set, documents)?.length ?? 0);
  if (text !== undefined && revision.documents !== undefined) known.set(revision.documents, text.length);
  const left = withinBytes(kept, known, limits.bytes);
  const used = new Set(left.flatMap(({ documents }) => documents ?? []));
  const patch: Record<string, string> = { [historyKey(set)]: left.length === 0 ? '' : renderIndex(left) };
  if (text !== undefined && revision.documents !== undefined && used.has(revision.documents)) {
    for (let part = 0; part * partLength < text.length; part += 1)
      patch[partKey(set, revision.documents, part)] = text.slice(part * partLength, (part + 1) * partLength);
  }
  return { ...patch, ...withoutUnused(config, set, used) };
}

/** Prefers newer documents; also drops documents that alone exceed the limit. */
function withinBytes(
  revisions: readonly Revision[],
  sizes: ReadonlyMap<string, number>,
  limit: number,
): readonly Revision[] {
  const chosen = new Set<string>();
  let bytes = 0;
  return [...revisions]
    .reverse()
    .map((one) => {
      const { documents, ...rest } = one;
      if (documents === undefined || chosen.has(documents)) return one;
      const size = sizes.get(documents) ?? 0;
      if (size === 0 || bytes + size > limit) return rest;
      bytes += size;
      chosen.add(documents);
      return one;
    })
    .reverse();
}

function withoutUnused(config: Config, set: string, used: ReadonlySet<string>): Patch {
  const prefix = documentsPrefix(set);
  const gone = Object.keys(config).filter(
    (key) => key.startsWith(prefix) && config[key] !== '' && !used.has(key.slice(prefix.length).split('.', 1)[0] ?? ''),
  );
  return Object.fromEntries(gone.map((key) => [key, '']));
}

/** Max histories of sets without objects. */
const maxGone = 20;

/** Removes all but the latest histories of deleted sets. `isGone`: the set has no objects left. */
export function dropOldHistories(config: Config, isGone: (set: string) => boolean): Patch {
  const ended = (set: string): string => readHistory(config, set).revisions.at(-1)?.at ?? '';
  const gone = setsWithHistory(config)
    .filter(isGone)
    .map((set) => ({ set, at: ended(set) }))
    .sort((a, b) => (a.at < b.at ? 1 : -1));
  return Object.fromEntries(
    gone
      .slice(maxGone)
      .flatMap(({ set }) => [[historyKey(set), ''], ...Object.entries(withoutUnused(config, set, new Set()))]),
  );
}

const maxChanges = 12;
const signs = { create: '+', update: '~', replace: '±', delete: '-', 'no-op': '!' } as const;

/** `+container/web1`, `~profile/web`, `and 7 more`. */
export function changesOf(plan: Plan): readonly string[] {
  const changed = plan.changes.filter(({ steps }) => steps.length > 0);
  return firstOf(changed.map(({ action, address }) => `${signs[action]}${address}`));
}

const firstOf = (texts: readonly string[]): readonly string[] =>
  texts.length > maxChanges ? [...texts.slice(0, maxChanges), `and ${texts.length - maxChanges} more`] : texts;

/** `container/web1`, `and 7 more`: the objects that guards leave unchanged. */
export const refusedOf = ({ guards }: Plan): readonly string[] =>
  firstOf([...new Set(guards.map(({ address }) => address))]);

/** The target of `rollback` without a number: the newest successful revision whose documents differ from the newest revision's. */
export function previousOf({ revisions }: History): Revision | undefined {
  const newest = revisions.at(-1);
  return revisions.findLast(
    (one) =>
      one !== newest &&
      one.mode === 'apply' &&
      one.outcome === 'done' &&
      one.isPartial !== true &&
      one.documents !== undefined &&
      one.documents !== newest?.documents,
  );
}
