// Matches name patterns: `shop-*`, `profile/shop-*`, `storage_volume/fast/shop-*`. A star matches any text without / and @. Pure.
import { kindNames, type KindName } from '../../../server/api/kinds.ts';
import { starPattern } from '../../core/text/star-pattern.ts';

const kindOf = (pattern: string): string | undefined => {
  const first = pattern.slice(0, Math.max(0, pattern.indexOf('/')));
  return (kindNames as readonly string[]).includes(first) ? first : undefined;
};

/** A pattern that begins with a kind is for that kind only. */
export function fits(pattern: string, kind: KindName, name: string): boolean {
  const wanted = kindOf(pattern);
  if (wanted !== undefined && wanted !== kind) return false;
  return starPattern(wanted === undefined ? pattern : pattern.slice(wanted.length + 1), '[^/@]*').test(name);
}

/** Entries of `uses` must name a kind: an entry for any kind would allow more than it seems. */
export const namesKind = (pattern: string): boolean => kindOf(pattern) !== undefined;
