// Reads the limits.cpu* keys and picks cpus for a container. Pure; writes nothing.
import { assertNever } from '../../../lib/shared/assert-never.ts';
import { driverErrors } from '../../driver-error.ts';

/** The value of limits.cpu: a number of cpus (the driver picks which), named cpus, or all. */
export type CpuWish =
  | { readonly kind: 'all' }
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'pinned'; readonly cpus: readonly number[] };

/** `3` = any three, `0` = all, as on LXD, `0,2` or `1-3` or `1-1` = exactly those. */
export function parseCpus(text: string): CpuWish {
  if (text === '') return { kind: 'all' };
  if (/^[0-9]+$/.test(text)) {
    const count = Number(text);
    if (count < 1) return { kind: 'all' };
    return { kind: 'count', count };
  }
  return { kind: 'pinned', cpus: parseCpuList(text) };
}

/** The kernel's cpu list syntax (`0-3,7`), sorted, without repetition. */
export function parseCpuList(text: string): readonly number[] {
  const cpus = new Set<number>();
  for (const part of text.trim().split(',')) {
    const match = /^([0-9]{1,5})(?:-([0-9]{1,5}))?$/.exec(part.trim());
    if (match === null) throw driverErrors.invalid(`"${text}" is not a list of cpus like 0-3,7`);
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    if (last < first) throw driverErrors.invalid(`"${part}" is not a range of cpus`);
    for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu);
  }
  return [...cpus].sort((a, b) => a - b);
}

/** The cpuset for a wish. Counted cpus are the least loaded ones, preferring those it has; undefined: all cpus. */
export function pickCpus(
  wish: CpuWish,
  online: readonly number[],
  load: ReadonlyMap<number, number> = new Map(),
  current: readonly number[] = [],
): readonly number[] | undefined {
  switch (wish.kind) {
    case 'all':
      return undefined;
    case 'pinned': {
      const usable = wish.cpus.filter((cpu) => online.includes(cpu));
      if (usable.length === 0) {
        throw driverErrors.invalid(`limits.cpu asks for cpus ${wish.cpus.join(',')}: none of them is online`);
      }
      return usable;
    }
    case 'count': {
      if (wish.count >= online.length) return undefined;
      const cost = (cpu: number): number => (load.get(cpu) ?? 0) + (current.includes(cpu) ? 0 : 0.5);
      return online
        .toSorted((a, b) => cost(a) - cost(b) || a - b)
        .slice(0, wish.count)
        .sort((a, b) => a - b);
    }
    default:
      return assertNever(wish);
  }
}

export interface CpuClaim {
  readonly wish: CpuWish;
  /** Its current cpus; kept if that does not burden others. */
  readonly current: readonly number[] | undefined;
}

/** The cpusets of all running containers, by name. Named cpus are used as named; counted ones are spread evenly over the cpus. Undefined:
 *  all cpus. */
export function balanceCpus(
  claims: ReadonlyMap<string, CpuClaim>,
  online: readonly number[],
): ReadonlyMap<string, readonly number[] | undefined> {
  const order = [...claims].toSorted(([a, { wish: x }], [b, { wish: y }]) => rank(y) - rank(x) || (a < b ? -1 : 1));
  const load = new Map(online.map((cpu) => [cpu, 0]));
  const sets = new Map<string, readonly number[] | undefined>();
  for (const [name, { wish, current = [] }] of order) {
    const cpus = pickCpus(wish, online, load, current);
    for (const cpu of cpus ?? []) load.set(cpu, (load.get(cpu) ?? 0) + 1);
    sets.set(name, cpus);
  }
  return sets;
}

/** Pinned containers come first, then those with the most cpus. */
const rank = (wish: CpuWish): number => (wish.kind === 'pinned' ? 2 ** 31 : wish.kind === 'count' ? wish.count : 0);

export interface CpuTime {
  /** Soft share, 100 = a container without a limit. */
  readonly percent: number;
  /** 0 (last) to 10 (first). */
  readonly priority: number;
  /** Hard limit in microseconds. */
  readonly quota?: { readonly quotaUs: number; readonly periodUs: number };
}

/** limits.cpu.allowance is `N%` (a share under load) or `Xms/Yms` (a hard limit). */
export function parseCpuTime(allowance: string, priority: string): CpuTime {
  const level = priority === '' ? 10 : Number(priority);
  if (!Number.isInteger(level) || level < 0 || level > 10) {
    throw driverErrors.invalid(`limits.cpu.priority "${priority}" is not between 0 and 10`);
  }
  if (allowance === '') return { percent: 100, priority: level };
  const share = /^([0-9]{1,5})%$/.exec(allowance);
  if (share !== null) return { percent: Number(share[1]), priority: level };
  const quota = /^([0-9]{1,9})ms\/([0-9]{1,9})ms$/.exec(allowance);
  const quotaUs = Number(quota?.[1]) * 1000;
  const periodUs = Number(quota?.[2]) * 1000;
  if (quota === null || quotaUs < 1000 || periodUs < 1000 || periodUs > 1_000_000) {
    throw driverErrors.invalid(`limits.cpu.allowance "${allowance}" is neither N% nor Xms/Yms (Y at most 1000)`);
  }
  return { percent: 100, priority: level, quota: { quotaUs, periodUs } };
}
