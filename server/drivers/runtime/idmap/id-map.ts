// The host ids that containers may use: reads subordinate id files and the kernel's own map. plan.ts allocates them.
import { driverErrors } from '../../driver-error.ts';
import type { IdMapEntry } from '../driver.ts';
import { readIfThere } from '../../../lib/shared/missing-files.ts';

export interface IdRange {
  readonly start: number;
  readonly count: number;
}

/** A container's minimum: every id up to nobody (65534). */
export const smallestRange = 65_536;
const customaryBase = 100_000;
const fallbackRange: IdRange = { start: 1_000_000, count: 1_000_000_000 };

/** Every entry for one of `users` in the text of /etc/subuid or /etc/subgid. */
export function parseAllSubIds(text: string, users: readonly string[]): readonly IdRange[] {
  return text.split('\n').flatMap((line) => {
    const match = /^([^:#]+):([0-9]+):([0-9]+)\s*$/.exec(line);
    if (match === null || !users.includes(match[1] ?? '')) return [];
    return [{ start: Number(match[2]), count: Number(match[3]) }];
  });
}

/** The first of them with at least 65536 ids: the default for containers. */
export function parseSubIds(text: string, users: readonly string[]): IdRange | undefined {
  return parseAllSubIds(text, users).find((range) => range.count >= smallestRange && range.start > 0);
}

/** The range if no file names one, from the text of /proc/self/uid_map (inside id : outside id : count). */
export function rangeOfKernelMap(text: string): IdRange | undefined {
  const entries = text
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter((numbers) => numbers.length === 3);
  if (entries.some(([inside, outside, count]) => inside === 0 && outside === 0 && (count ?? 0) >= 4_294_967_294)) {
    return fallbackRange;
  }
  for (const [inside = 0, , count = 0] of entries) {
    const start = Math.max(inside, customaryBase);
    const left = inside + count - start;
    if (left >= smallestRange) return { start, count: left };
  }
  return undefined;
}

export interface HostIds {
  /** The user ids of the default map, which uses all of them. */
  readonly uids: IdRange;
  readonly gids: IdRange;
  /** Further ids that a container may name: root's own, and every entry of root. */
  readonly allowed: { readonly uid: readonly IdRange[]; readonly gid: readonly IdRange[] };
}

export interface IdMapSources {
  /** Undefined = the file is absent. */
  readonly subuid: string | undefined;
  readonly subgid: string | undefined;
  readonly uidMap: string;
  readonly gidMap: string;
}

const rootNames = ['root', '0'] as const;
/** A process that may write id maps may map its own id without an entry in any file. */
const ownId: IdRange = { start: 0, count: 1 };

/** The host's ids for containers, or why there are none and the remedy. */
export function decideHostIds(sources: IdMapSources): HostIds | { readonly problem: string } {
  const uids = decideRange('/etc/subuid', sources.subuid, sources.uidMap);
  if ('problem' in uids) return uids;
  const gids = decideRange('/etc/subgid', sources.subgid, sources.gidMap);
  if ('problem' in gids) return gids;
  const entries = (text: string | undefined, range: IdRange): readonly IdRange[] => [
    ownId,
    ...(text === undefined ? [range] : parseAllSubIds(text, rootNames)),
  ];
  return { uids, gids, allowed: { uid: entries(sources.subuid, uids), gid: entries(sources.subgid, gids) } };
}

/** The default container map: the whole host range at container id 0. */
export const defaultMap = ({ uids, gids }: Pick<HostIds, 'uids' | 'gids'>): readonly IdMapEntry[] => [
  { isuid: true, isgid: false, hostid: uids.start, nsid: 0, maprange: uids.count },
  { isuid: false, isgid: true, hostid: gids.start, nsid: 0, maprange: gids.count },
];

function decideRange(
  file: string,
  text: string | undefined,
  kernelMap: string,
): IdRange | { readonly problem: string } {
  if (text !== undefined) {
    return (
      parseSubIds(text, rootNames) ?? {
        problem: `${file} has no entry of at least ${smallestRange} ids for root: add the line "root:1000000:1000000000"`,
      }
    );
  }
  return (
    rangeOfKernelMap(kernelMap) ?? {
      problem: `this system's own id map is too small for unprivileged containers and ${file} is absent`,
    }
  );
}

/** The host's ids for containers. Throws DriverError NotSupported with the remedy if only privileged containers could run. */
export async function hostIds(): Promise<HostIds> {
  const [subuid, subgid, uidMap, gidMap] = await Promise.all(
    ['/etc/subuid', '/etc/subgid', '/proc/self/uid_map', '/proc/self/gid_map'].map(readIfThere),
  );
  const decided = decideHostIds({ subuid, subgid, uidMap: uidMap ?? '', gidMap: gidMap ?? '' });
  if ('problem' in decided) {
    throw driverErrors.notSupported(`Unprivileged containers cannot run on this host: ${decided.problem}`);
  }
  return decided;
}

/** The default container map of this host. Throws like `hostIds`. */
export const hostIdMap = async (): Promise<readonly IdMapEntry[]> => defaultMap(await hostIds());

/** Host id of a container's id 0; 0 for a privileged container (empty map). */
export function hostRootIds(map: readonly IdMapEntry[]): { readonly uid: number; readonly gid: number } {
  const find = (kind: 'isuid' | 'isgid'): number =>
    map.find((entry) => entry[kind] && entry.nsid === 0 && entry.maprange > 0)?.hostid ?? 0;
  return { uid: find('isuid'), gid: find('isgid') };
}

/** The host id of a container's id; undefined if the map lacks it. */
export function toHostId(map: readonly IdMapEntry[], kind: 'uid' | 'gid', id: number): number | undefined {
  if (map.length === 0) return id;
  const flag = kind === 'uid' ? 'isuid' : 'isgid';
  const entry = map.find((one) => one[flag] && id >= one.nsid && id < one.nsid + one.maprange);
  return entry === undefined ? undefined : entry.hostid + (id - entry.nsid);
}

export const entryOf = (kind: 'uid' | 'gid', hostid: number, nsid: number, maprange: number): IdMapEntry => ({
  isuid: kind === 'uid',
  isgid: kind === 'gid',
  hostid,
  nsid,
  maprange,
});

/** The entry whose ids on the host include this one. */
export function holderOf(map: readonly IdMapEntry[], kind: 'uid' | 'gid', hostId: number): IdMapEntry | undefined {
  const flag = kind === 'uid' ? 'isuid' : 'isgid';
  return map.find((one) => one[flag] && hostId >= one.hostid && hostId < one.hostid + one.maprange);
}

/** False for the empty map. */
export const holdsHostId = (map: readonly IdMapEntry[], kind: 'uid' | 'gid', hostId: number): boolean =>
  holderOf(map, kind, hostId) !== undefined;

const nobody = 65_534;

/** The container's id for a host id: nobody if the map lacks it. */
export function toGuestId(map: readonly IdMapEntry[], kind: 'uid' | 'gid', hostId: number): number {
  if (map.length === 0) return hostId;
  const entry = holderOf(map, kind, hostId);
  return entry === undefined ? nobody : entry.nsid + (hostId - entry.hostid);
}
