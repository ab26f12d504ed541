// The checkout of a source that has no history: a revision that is not kept any more may still be what the source has now.
import { SourceError, type Checkout, type SourceRevision } from '../source.ts';
import type { Checkouts } from './checkouts.ts';

/** `fetchNow` fetches the newest revision, and keeps its files. Rejects as `not-found` when that is another one. */
export async function keptOrFetched(
  checkouts: Checkouts,
  revision: string,
  what: string,
  fetchNow: () => Promise<SourceRevision>,
): Promise<Checkout> {
  const there = await checkouts.find(revision);
  if (there !== undefined) return { dir: there };
  const found = await fetchNow();
  const dir = found.revision === revision ? await checkouts.find(revision) : undefined;
  if (dir === undefined)
    throw new SourceError('not-found', `${what} has ${found.revision} now, and no copy of ${revision} was kept`);
  return { dir };
}
