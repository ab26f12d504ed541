// Decides which members of a cluster fetch a copy of an image, so that enough have it. All members decide alike, without asking each other.
// Pure.
import { createHash } from 'node:crypto';

export interface ReplicaWish {
  /** The qualified name. */
  readonly image: string;
  /** `cluster.images_minimal_replica`; -1: every member. */
  readonly wanted: number;
  /** Numbers of the members that are present and take new objects. */
  readonly candidates: readonly number[];
  /** Numbers of the members that have it. */
  readonly holders: readonly number[];
}

/** An absent holder does not count: it may be lost. */
export function newHolders({ image, wanted, candidates, holders }: ReplicaWish): readonly number[] {
  const enough = wanted === -1 ? candidates.length : Math.min(wanted, candidates.length);
  const missing = enough - candidates.filter((each) => holders.includes(each)).length;
  return candidates
    .filter((each) => !holders.includes(each))
    .toSorted((a, b) => (rank(image, a) < rank(image, b) ? -1 : 1))
    .slice(0, Math.max(0, missing));
}

/** Orders members differently for each image, which spreads the copies. */
const rank = (image: string, member: number): string => createHash('sha256').update(`${member} ${image}`).digest('hex');
