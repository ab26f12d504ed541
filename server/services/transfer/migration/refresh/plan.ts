// Plans the refresh of a copy: which snapshots are deleted, which are added, and the base of each. Pure.

import { withoutUndefined } from '../../../../lib/shared/without-undefined.ts';

export interface PlannedSnapshot {
  readonly name: string;
  readonly createdAt: string;
  /** Its id in native streams, if the driver has them. */
  readonly streamId?: string | undefined;
}

export const plannedOf = ({
  name,
  document: { createdAt },
}: {
  readonly name: string;
  readonly document: { readonly createdAt: string };
}): PlannedSnapshot => ({ name, createdAt });

export interface RefreshPart {
  /** Undefined: the volume itself. */
  readonly snapshot?: string;
  /** The local snapshot that it resembles; undefined: the local volume. */
  readonly base?: string;
}

export interface RefreshPlan {
  /** Local snapshots that the source lacks, or has in another version of equal name. */
  readonly stale: readonly string[];
  /** In this order; the volume comes last. */
  readonly parts: readonly RefreshPart[];
  /** Whether both sides know every base by its stream id, so that native streams can build on it. */
  readonly isNative: boolean;
}

interface Sides {
  /** Oldest first. */
  readonly source: readonly PlannedSnapshot[];
  readonly target: readonly PlannedSnapshot[];
  readonly canBeNative: boolean;
  /** Copies share blocks here, so the volume can be copied from a snapshot. */
  readonly cheapCopies: boolean;
}

/** A snapshot never changes: an equal name and creation time identify it. */
export function planRefresh({ source, target, canBeNative, cheapCopies }: Sides): RefreshPlan {
  const mine = new Map(target.map((one) => [one.name, one]));
  const isCommon = (one: PlannedSnapshot): boolean => mine.get(one.name)?.createdAt === one.createdAt;
  const offered = new Map(source.map((one) => [one.name, one]));
  const stale = target.filter((one) => offered.get(one.name)?.createdAt !== one.createdAt).map(({ name }) => name);
  const isKin = (one: PlannedSnapshot): boolean =>
    isCommon(one) && one.streamId !== undefined && one.streamId === mine.get(one.name)?.streamId;
  const isNative = canBeNative && source.some(isKin);
  const isBase = isNative ? isKin : isCommon;
  // Older than every existing base: the nearest one is used.
  let base = isNative ? source.find(isKin)?.name : undefined;
  let isNew = false;
  const parts: RefreshPart[] = [];
  for (const one of source) {
    if (!isCommon(one)) {
      parts.push({ snapshot: one.name, ...withoutUndefined({ base }) });
      isNew = true;
      base = one.name;
    } else if (isBase(one)) {
      base = one.name;
    }
  }
  // The new data is already in the last snapshot, and is not sent twice.
  const fromSnapshot = isNative || (cheapCopies && isNew);
  parts.push(fromSnapshot && base !== undefined ? { base } : {});
  return { stale, parts, isNative };
}
