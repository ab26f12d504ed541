// Decides how a copy is brought up to date: which snapshots go, which come, and what each of them is made of. Pure.

export interface PlannedSnapshot {
  readonly name: string;
  readonly createdAt: string;
  /** What native streams call it, if there are any. */
  readonly streamId?: string | undefined;
}

export interface RefreshPart {
  /** Undefined: the volume itself. */
  readonly snapshot?: string;
  /** What it is like already, here; a snapshot or (undefined) the volume. */
  readonly base?: string;
}

export interface RefreshPlan {
  /** Snapshots of ours that the source does not have, or has another of that name. */
  readonly stale: readonly string[];
  /** In this order; the volume comes last. */
  readonly parts: readonly RefreshPart[];
  /** True: every base is known by its stream id on both sides, so that native streams can build on it. */
  readonly isNative: boolean;
}

interface Sides {
  /** Oldest first. */
  readonly source: readonly PlannedSnapshot[];
  readonly target: readonly PlannedSnapshot[];
  readonly canBeNative: boolean;
  /** Copies share blocks here, so that the volume may as well be made of a snapshot. */
  readonly cheapCopies: boolean;
}

/** A snapshot never changes: the same name and time of making is the same snapshot. */
export function planRefresh({ source, target, canBeNative, cheapCopies }: Sides): RefreshPlan {
  const mine = new Map(target.map((one) => [one.name, one]));
  const isCommon = (one: PlannedSnapshot): boolean => mine.get(one.name)?.createdAt === one.createdAt;
  const offered = new Map(source.map((one) => [one.name, one]));
  const stale = target.filter((one) => offered.get(one.name)?.createdAt !== one.createdAt).map(({ name }) => name);
  const isKin = (one: PlannedSnapshot): boolean =>
    isCommon(one) && one.streamId !== undefined && one.streamId === mine.get(one.name)?.streamId;
  const isNative = canBeNative && source.some(isKin);
  const isBase = isNative ? isKin : isCommon;
  // Older than every base that there is: the nearest one will do.
  let base = isNative ? source.find(isKin)?.name : undefined;
  let isNew = false;
  const parts: RefreshPart[] = [];
  for (const one of source) {
    if (!isCommon(one)) {
      parts.push({ snapshot: one.name, ...(base === undefined ? {} : { base }) });
      isNew = true;
      base = one.name;
    } else if (isBase(one)) {
      base = one.name;
    }
  }
  // What is new in the last snapshot is there already, and need not come twice.
  const fromSnapshot = isNative || (cheapCopies && isNew);
  parts.push(fromSnapshot && base !== undefined ? { base } : {});
  return { stale, parts, isNative };
}
