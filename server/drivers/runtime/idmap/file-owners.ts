// Decides how files on disk come to belong to a container's ids: as they are, mapped while mounted, or given to other ids. Pure.
import type { IdMapEntry } from '../driver.ts';
import { holdsHostId, hostRootIds } from './id-map.ts';
import { sameMap } from './plan.ts';

type IdMap = readonly IdMapEntry[];

export interface OwnersNow {
  /** The owner of the directory that holds all the others; it is given away last. */
  readonly owner: number;
  /** Maps that files may be in; the first is the one that was recorded. Empty maps: ids as the container sees them. */
  readonly maps: readonly IdMap[];
  /** The first of `maps` is a guess. */
  readonly unrecorded: boolean;
}

export interface OwnersPlan {
  /** Maps to take out of the files on disk, one after the other, so that they have the ids that the container sees. */
  readonly takeOut: readonly IdMap[];
  /** To be put into the files on disk after that. */
  readonly putIn?: IdMap;
  /** To be mounted through. */
  readonly through?: IdMap;
}

/**
 * `to` is the container's map, empty = privileged. On the way from one map to another files pass through the ids that the container
 * sees, which no map of others holds: after a crash in between it is known of each file what is left to be done.
 */
export function planOwners(now: OwnersNow, to: IdMap, canMap: boolean): OwnersPlan {
  const { owner, maps, unrecorded } = now;
  const [recorded = []] = maps;
  const isDone = owner === hostRootIds(to).uid && (unrecorded || sameMap(recorded, to));
  if (isDone && to.length > 0) return { takeOut: [] };
  const inMaps = maps.filter((map) => map.length > 0);
  const isPlain = (unrecorded || recorded.length === 0) && !inMaps.some((map) => holdsHostId(map, 'uid', owner));
  if (canMap) return { takeOut: isPlain ? [] : inMaps, ...(to.length === 0 ? {} : { through: to }) };
  const takeOut = inMaps.filter((map) => !sameMap(map, to) && !(unrecorded && isPlain));
  return to.length === 0 ? { takeOut } : { takeOut, putIn: to };
}

/** What messages call the map. */
export const mapText = (map: IdMap): string => (map.length === 0 ? 'their own' : `those from ${hostRootIds(map).uid}`);
