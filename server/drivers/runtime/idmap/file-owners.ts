// Decides how files on disk get a container's ids: unchanged, mapped at the mount, or shifted on disk. Pure.
import type { IdMapEntry } from '../driver.ts';
import { holdsHostId, hostRootIds } from './id-map.ts';
import { sameMap } from './plan.ts';

type IdMap = readonly IdMapEntry[];

export interface OwnersNow {
  /** The owner of the top directory, which is shifted last. */
  readonly owner: number;
  /** Maps that files may have; the first is the recorded one. Empty maps: ids as the container sees them. */
  readonly maps: readonly IdMap[];
  /** The first of `maps` is a guess. */
  readonly unrecorded: boolean;
  /** A shift was cut off: each file may have ids of any of `maps`, whatever the top directory has. */
  readonly unfinished?: boolean;
}

export interface OwnersPlan {
  /** Maps to undo on disk, one after the other, so that files have the ids that the container sees. */
  readonly takeOut: readonly IdMap[];
  /** The map to apply on disk after that. */
  readonly putIn?: IdMap;
  /** The map for the mount. */
  readonly through?: IdMap;
}

/** `to` is the container's map, empty = privileged. Between two maps files pass through the ids that the container sees, which no other map
 *  contains: after a crash in between, each file shows what is left to do. */
export function planOwners(now: OwnersNow, to: IdMap, canMap: boolean): OwnersPlan {
  const { owner, maps, unrecorded, unfinished = false } = now;
  const [recorded = []] = maps;
  const isDone = !unfinished && owner === hostRootIds(to).uid && (unrecorded || sameMap(recorded, to));
  if (isDone && to.length > 0) return { takeOut: [] };
  const inMaps = maps.filter((map) => map.length > 0);
  const looksPlain = (unrecorded || recorded.length === 0) && !inMaps.some((map) => holdsHostId(map, 'uid', owner));
  const isPlain = !unfinished && looksPlain;
  if (canMap) return { takeOut: isPlain ? [] : inMaps, ...(to.length === 0 ? {} : { through: to }) };
  const takeOut = inMaps.filter((map) => !sameMap(map, to) && !(unrecorded && isPlain));
  return to.length === 0 ? { takeOut } : { takeOut, putIn: to };
}

export const mapText = (map: IdMap): string => (map.length === 0 ? 'their own' : `those from ${hostRootIds(map).uid}`);
