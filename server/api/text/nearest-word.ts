// Finds the word that a user most likely meant, for hints in messages; none if no word is close. Pure.

/** The closest candidate, or undefined if none is close enough for a likely typo. */
export function nearestName(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = folded(word);
  if (wanted === '') return undefined;
  // For one or two letters, every other word of that length would be close.
  const limit = wanted.length < 3 ? 0 : Math.max(1, Math.floor(wanted.length / 4));
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, folded(candidate), bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** ` (did you mean X?)`, or empty text. */
export const hint = (word: string, candidates: Iterable<string>): string => didYouMean(nearestName(word, candidates));

/** The hint for a name that the caller has already found. */
export const didYouMean = (name: string | undefined): string => (name === undefined ? '' : ` (did you mean ${name}?)`);

// Case and separators are the most common mistakes: they do not count as a distance.
const folded = (word: string): string => word.slice(0, 128).toLowerCase().replaceAll(/[-_]/g, '.');

/** Insertions, deletions, replacements and swaps of neighbours; at least `limit` if it is not below that. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? limit;
}
