// Filters of lists as LXD clients write them (extension api_filtering): `status eq running and not name eq "a b"`. Pure.
import { errors } from '../../api/errors.ts';

export type Fits = (object: Readonly<Record<string, unknown>>) => boolean;

/** No user or client writes longer filters. */
const maxTerms = 100;

/** `[not] FIELD eq|ne VALUE`, joined by `and` and `or`, evaluated from left to right. Compares whole values as text, ignoring case. Throws
 *  badRequest for anything else. */
export function parseFilter(text: string): Fits {
  const words = wordsOf(text);
  let fits: Fits | undefined;
  let terms = 0;
  for (let at = 0; at < words.length; terms++) {
    if (terms === maxTerms) throw refuse(text, `has more than ${maxTerms} terms`);
    const before = fits;
    const join = before === undefined ? undefined : words[at++];
    if (join !== undefined && join !== 'and' && join !== 'or')
      throw refuse(text, `has ${join} where and, or or its end belongs`);
    const isNegated = words[at] === 'not';
    if (isNegated) at++;
    const [field, operator, value] = words.slice(at, at + 3);
    at += 3;
    if (field === undefined || value === undefined || (operator !== 'eq' && operator !== 'ne'))
      throw refuse(text, 'has a term that is not FIELD eq VALUE or FIELD ne VALUE');
    const wanted = (operator === 'eq') !== isNegated;
    const term: Fits = (object) => (textAt(object, field)?.toLowerCase() === value.toLowerCase()) === wanted;
    if (before === undefined) fits = term;
    else
      fits = join === 'and' ? (object) => before(object) && term(object) : (object) => before(object) || term(object);
  }
  return fits ?? (() => true);
}

const refuse = (text: string, why: string) =>
  errors.invalid('query', [{ path: 'filter', message: `${JSON.stringify(text.slice(0, 200))} ${why}` }]);

/** Split at spaces; double quotes keep a word together. */
function wordsOf(text: string): readonly string[] {
  return [...text.matchAll(/"([^"]*)"|[^\s"]+/g)].map((match) => match[1] ?? match[0]);
}

/** `config.user.x` is `x` of `user` of `config`, or `user.x` of `config`: names of keys contain dots. */
function textAt(value: unknown, path: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Object.hasOwn(value, path)) return textOf((value as Record<string, unknown>)[path]);
  const dot = path.indexOf('.');
  if (dot < 0 || !Object.hasOwn(value, path.slice(0, dot))) return undefined;
  return textAt((value as Record<string, unknown>)[path.slice(0, dot)], path.slice(dot + 1));
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}
