// The revisions of a set, kept on the server beside its state: one index of who applied what when, and the documents of each, secrets
// cut out, under their hash, so that equal ones lie there once. Texts to data and back, and what goes when it is too much; pure.
import type { Address, Json, JsonObject } from '../documents/document.ts';
import { isMap, mapOf, textOf, textsOf } from '../documents/json-values.ts';
import { notePrefix } from '../ownership/owner-records.ts';
import type { Plan } from '../plan/plan.ts';

/** `partial`: parts of the plan were refused, and the rest was done. */
export type RevisionOutcome = 'running' | 'done' | 'failed' | 'interrupted' | 'partial';

export interface Revision {
  readonly number: number;
  /** Of the run that made it. */
  readonly run: string;
  /** RFC 3339. */
  readonly at: string;
  /** `root@host`. */
  readonly who: string;
  readonly mode: Plan['mode'];
  readonly outcome: RevisionOutcome;
  readonly message?: string;
  /** Of the work tree that the manifests lay in; `+` at its end: with changes that are not in it. */
  readonly commit?: string;
  /** The same on all hosts of one rollout. */
  readonly rollout?: string;
  /** The revision that it went back to. */
  readonly rollbackOf?: number;
  /** --target left something out: only its own documents are in it. */
  readonly isPartial?: boolean;
  readonly counts: { readonly add: number; readonly change: number; readonly destroy: number };
  /** `+container/web1`, `~profile/web`: the first of them. */
  readonly changes: readonly string[];
  /** Addresses that guards kept as they were: the first of them. */
  readonly refused?: readonly string[];
  /** How many of the steps failed. */
  readonly failed?: number;
  /** Hash of the documents; absent: none, or given up for newer ones. */
  readonly documents?: string;
  /** What gantry.lock held: fingerprints by alias. */
  readonly images: Readonly<Record<string, string>>;
}

/** A document as it was written, variables put in; paths in it are relative to `folder`. */
export interface WrittenDocument {
  readonly address: Address;
  readonly folder: string;
  /** Its flat form. References to secrets stand as such, secrets written in clear as `{$secret: HASH}`. */
  readonly value: JsonObject;
  /** Dotted paths that are secret by where they come from. */
  readonly secrets?: readonly string[];
  /** Images only: what the files were. */
  readonly fingerprint?: string;
}

export interface History {
  /** Oldest first. */
  readonly revisions: readonly Revision[];
}

export interface HistoryLimits {
  readonly revisions: number;
  /** Of all documents together, as they are kept. */
  readonly bytes: number;
}
export const defaultLimits: HistoryLimits = { revisions: 30, bytes: 131_072 };

type Config = Readonly<Record<string, unknown>>;
type Patch = Readonly<Record<string, string>>;

const indexPrefix = `${notePrefix}history.`;
export const historyKey = (set: string): string => `${indexPrefix}${set}`;
const documentsPrefix = (set: string): string => `${notePrefix}documents.${set}.`;
/** Set names hold no dots, hashes neither: parts after the first end in `.1`, `.2`. */
const partKey = (set: string, hash: string, part: number): string =>
  `${documentsPrefix(set)}${hash}${part === 0 ? '' : `.${part}`}`;
const partLength = 60_000;

/** Sets that left a history in this server config. */
export const setsWithHistory = (config: Config): readonly string[] =>
  Object.keys(config)
    .filter((key) => key.startsWith(indexPrefix) && config[key] !== '')
    .map((key) => key.slice(indexPrefix.length))
    .sort();

/** What cannot be read is as good as none. */
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
  const { n, run, at, who, message, commit, rollout, of, documents, failed } = value;
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
  ...(one.message === undefined ? {} : { message: one.message }),
  ...(one.commit === undefined ? {} : { commit: one.commit }),
  ...(one.rollout === undefined ? {} : { rollout: one.rollout }),
  ...(one.rollbackOf === undefined ? {} : { of: one.rollbackOf }),
  ...(one.isPartial === true ? { partial: true } : {}),
  counts: [one.counts.add, one.counts.change, one.counts.destroy],
  changes: one.changes,
  ...(one.refused === undefined ? {} : { refused: one.refused }),
  ...(one.failed === undefined ? {} : { failed: one.failed }),
  ...(one.documents === undefined ? {} : { documents: one.documents }),
  ...(Object.keys(one.images).length === 0 ? {} : { images: one.images }),
});

const renderIndex = (revisions: readonly Revision[]): string =>
  JSON.stringify({ v: 1, revisions: revisions.map(revisionText) });

/** The next number: they are never given twice, as long as one revision is left. */
export const nextNumber = ({ revisions }: History): number => (revisions.at(-1)?.number ?? 0) + 1;

/** The kept text of documents with this hash. */
export function documentsText(config: Config, set: string, hash: string): string | undefined {
  let text = '';
  for (let part = 0; typeof config[partKey(set, hash, part)] === 'string'; part += 1)
    text += String(config[partKey(set, hash, part)]);
  return text === '' ? undefined : text;
}

/**
 * The config patch that adds a revision (or takes the place of that with its number): the oldest go past the limit of revisions, the documents
 * of the oldest go past the limit of bytes. `text`: the documents under their hash, unless they lie there already.
 */
export function addRevision(
  config: Config,
  set: string,
  revision: Revision,
  text: string | undefined,
  limits: HistoryLimits,
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

/** Newer documents before older ones; one that is too much by itself is given up, too. */
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

/** Nothing of the set is left, so neither is its history. */
export const dropHistory = (config: Config, set: string): Patch => ({
  ...(historyKey(set) in config ? { [historyKey(set)]: '' } : {}),
  ...withoutUnused(config, set, new Set()),
});

const mostChanges = 12;
const signs = { create: '+', update: '~', replace: '±', delete: '-', 'no-op': '!' } as const;

/** `+container/web1`, `~profile/web`, `and 7 more`. */
export function changesOf(plan: Plan): readonly string[] {
  const changed = plan.changes.filter(({ steps }) => steps.length > 0);
  return firstOf(changed.map(({ action, address }) => `${signs[action]}${address}`));
}

const firstOf = (texts: readonly string[]): readonly string[] =>
  texts.length > mostChanges ? [...texts.slice(0, mostChanges), `and ${texts.length - mostChanges} more`] : texts;

/** `container/web1`, `and 7 more`: what guards keep as it is. */
export const refusedOf = ({ guards }: Plan): readonly string[] =>
  firstOf([...new Set(guards.map(({ address }) => address))]);

/** To which revision `rollback` goes without a number: the newest that ended well with other documents than the newest has. */
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
