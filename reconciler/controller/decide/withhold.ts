// Withholds values that can hold a secret or a command from the role view and from messages. Pure.
import { isSeedKey } from '../../../server/api/container/cloud-init-seed-keys.ts';
import { hidden, isSecret } from '../../core/documents/secret.ts';
import type { Document, Json } from '../../core/documents/document.ts';
import type { ObjectDetail, Preview } from '../contract/index.ts';

export const withheld = '(shown to the role operate only)';

/** raw.lxc and the like, environment.*, the records of sets, environment and raw of other objects. */
const guardedStart = /^(?:raw|environment|user\.gantry)(?:\.|$)/;
/** Fields of commands and files in a container whose values are withheld. */
const guardedInside: ReadonlySet<string> = new Set(['command', 'unless', 'content', 'triggers']);

const isGuardedKey = (key: string): boolean => guardedStart.test(key) || isSeedKey(key) || guardedInside.has(key);

/** A dotted path: the keys of config hold dots themselves. */
const isGuardedPath = (path: string): boolean => {
  const words = path.split('.');
  return words.some((word, at) => isGuardedKey(word) || isGuardedKey(words.slice(at).join('.')));
};

function maskedTree(value: unknown, key = ''): unknown {
  if (isGuardedKey(key)) return withheld;
  if (Array.isArray(value)) return value.map((item) => maskedTree(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, maskedTree(item, name)]));
}

/** The detail for the role view, without guarded values. */
export function forViewers(detail: ObjectDetail): ObjectDetail {
  const { desired, live, differences } = detail;
  const masked = (values: object): Record<string, unknown> => maskedTree(values) as Record<string, unknown>;
  return {
    ...detail,
    ...(desired === undefined ? {} : { desired: masked(desired) }),
    ...(live === undefined ? {} : { live: masked(live) }),
    differences: differencesForViewers(differences),
  };
}

/** The plan for the role view, likewise. */
export const previewForViewers = (preview: Preview): Preview => ({
  ...preview,
  hosts: preview.hosts.map((host) => ({
    ...host,
    objects: host.objects.map((one) => ({ ...one, differences: differencesForViewers(one.differences) })),
  })),
});

const differencesForViewers = (differences: ObjectDetail['differences']): ObjectDetail['differences'] =>
  differences.map((one) => {
    const isGuarded = !one.isSecret && isGuardedPath(one.path);
    const shown = (value: unknown): unknown => (isGuarded ? withheld : maskedTree(value));
    return {
      ...one,
      ...('desired' in one ? { desired: shown(one.desired) } : {}),
      ...('live' in one ? { live: shown(one.live) } : {}),
      isSecret: one.isSecret || isGuarded,
    };
  });

/** Shorter texts occur in ordinary messages by chance. */
const leastLength = { secret: 6, other: 8 };

type Valued = Pick<Document, 'values' | 'secrets'>;

/** The texts in documents that messages must not quote: whole values and their lines. Longest first. */
export function guardedTexts(documents: Iterable<Valued>): readonly string[] {
  const found = new Set<string>();
  const note = (text: string, kind: keyof typeof leastLength): void => {
    for (const part of [text, ...text.split('\n')].map((one) => one.trim()))
      if (part.length >= leastLength[kind] && (kind === 'secret' || !/^[a-zA-Z]+$/.test(part))) found.add(part);
  };
  const walk = (value: Json, segments: readonly string[], isGuarded: boolean, declared: Valued['secrets']): void => {
    if (typeof value === 'string') {
      if (isSecret(segments, value, declared)) note(value, 'secret');
      else if (isGuarded) note(value, 'other');
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    for (const [key, item] of Object.entries(value))
      walk(item, [...segments, key], isGuarded || isGuardedKey(key), declared);
  };
  for (const { values, secrets } of documents) walk(values, [], false, secrets);
  return [...found].sort((one, other) => other.length - one.length);
}

/** Removes these texts from the message, also where it quotes them as JSON. */
export function withoutTexts(message: string, texts: readonly string[]): string {
  let shown = message;
  for (const text of texts) {
    shown = shown.replaceAll(text, hidden);
    const quoted = JSON.stringify(text).slice(1, -1);
    if (quoted !== text) shown = shown.replaceAll(quoted, hidden);
  }
  return shown;
}

const textsOf = new WeakMap<readonly Document[], readonly string[]>();

/** Removes values of these documents from the message that the role view may not read. */
export function cleaned(message: string, documents: readonly Document[]): string {
  let texts = textsOf.get(documents);
  if (texts === undefined) textsOf.set(documents, (texts = guardedTexts(documents)));
  return withoutTexts(message, texts);
}
