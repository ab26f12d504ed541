// Selects the objects that a command means: `KIND`, `KIND/NAME` and `KIND/PATTERN` with `*` for any text. Pure.
import { hint } from '../../../server/api/text/nearest-word.ts';
import { kindOfWord, type KindName } from '../../../server/api/kinds.ts';
import { addressParts } from '../../core/documents/document.ts';
import { parseAddress } from './parse-values.ts';
import { whereListed } from '../errors/missing-object.ts';
import { commandError } from '../errors/usage-error.ts';
import { starPattern } from '../../core/text/star-pattern.ts';

interface Named {
  readonly kind: KindName;
  readonly name: string;
}

/** All objects without words. Throws for a word that matches none. */
export function selectObjects<T extends Named>(
  words: readonly string[],
  objects: readonly T[],
  emptyMessage?: string,
): readonly T[] {
  if (words.length === 0) return objects;
  const chosen = new Set<T>();
  for (const word of words) {
    const found = objects.filter(matcherOf(word));
    if (found.length === 0) {
      const why = emptyMessage ?? 'the server has no such object';
      throw commandError(`${word}: ${why}${near(word, objects) || (emptyMessage === undefined ? remedy(word) : '')}`);
    }
    for (const one of found) chosen.add(one);
  }
  return objects.filter((one) => chosen.has(one));
}

const remedy = (word: string): string =>
  kindOfWord(word) === undefined ? `: ${whereListed(addressParts(parseAddress(word)).kind)}` : '';

function matcherOf(word: string): (object: Named) => boolean {
  const kind = kindOfWord(word);
  if (kind !== undefined) return (object) => object.kind === kind;
  const { kind: wanted, name } = addressParts(parseAddress(word));
  const pattern = starPattern(name);
  return (object) =>
    object.kind === wanted &&
    (pattern.test(object.name) ||
      ((object.kind === 'image' || object.kind === 'certificate') &&
        /^[0-9a-f]{6,}$/.test(name) &&
        object.name.startsWith(name)));
}

const near = (word: string, objects: readonly Named[]): string =>
  word.includes('*')
    ? ''
    : hint(
        word,
        objects.map(({ kind, name }) => `${kind}/${name}`),
      );
