// Which host ids containers may use: reads subordinate id files and the kernel's own map. Allots nothing to single containers.
import { readFile } from 'node:fs/promises';
import { DriverError } from '../driver-error.ts';
import type { IdMapEntry } from './driver.ts';

export interface IdRange {
  readonly start: number;
  readonly count: number;
}

/** What a container needs at least: every id up to nobody (65534). */
export const smallestRange = 65_536;
const customaryBase = 100_000;
const fallbackRange: IdRange = { start: 1_000_000, count: 1_000_000_000 };

/** First entry of at least 65536 ids for one of `users` in the text of /etc/subuid or /etc/subgid. */
export function parseSubIds(text: string, users: readonly string[]): IdRange | undefined {
  for (const line of text.split('\n')) {
    const match = /^([^:#]+):([0-9]+):([0-9]+)\s*$/.exec(line);
    if (match === null || !users.includes(match[1] ?? '')) continue;
    const range = { start: Number(match[2]), count: Number(match[3]) };
    if (range.count >= smallestRange && range.start > 0) return range;
  }
  return undefined;
}

/** The range to use where no file says so, from the text of /proc/self/uid_map (inside id : outside id : count). */
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

export interface IdMapSources {
  /** Undefined = the file is absent. */
  readonly subuid: string | undefined;
  readonly subgid: string | undefined;
  readonly uidMap: string;
  readonly gidMap: string;
}

/** The default container map (the whole host range at container id 0), or why there is none and what to do about it. */
export function decideHostIdMap(sources: IdMapSources): readonly IdMapEntry[] | { readonly problem: string } {
  const uids = decideRange('/etc/subuid', sources.subuid, sources.uidMap);
  if ('problem' in uids) return uids;
  const gids = decideRange('/etc/subgid', sources.subgid, sources.gidMap);
  if ('problem' in gids) return gids;
  return [
    { isuid: true, isgid: false, hostid: uids.start, nsid: 0, maprange: uids.count },
    { isuid: false, isgid: true, hostid: gids.start, nsid: 0, maprange: gids.count },
  ];
}

function decideRange(
  file: string,
  text: string | undefined,
  kernelMap: string,
): IdRange | { readonly problem: string } {
  if (text !== undefined) {
    return (
      parseSubIds(text, ['root', '0']) ?? {
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

/** The default container map of this host. Throws DriverError NotSupported with the remedy when only privileged ones can run. */
export async function hostIdMap(): Promise<readonly IdMapEntry[]> {
  const [subuid, subgid, uidMap, gidMap] = await Promise.all(
    ['/etc/subuid', '/etc/subgid', '/proc/self/uid_map', '/proc/self/gid_map'].map((path) =>
      readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      }),
    ),
  );
  const decided = decideHostIdMap({ subuid, subgid, uidMap: uidMap ?? '', gidMap: gidMap ?? '' });
  if ('problem' in decided) {
    throw new DriverError('NotSupported', `Unprivileged containers cannot run on this host: ${decided.problem}`);
  }
  return decided;
}

/** Host id that a container's id 0 is on the host; 0 for a privileged container (empty map). */
export function hostRootIds(map: readonly IdMapEntry[]): { readonly uid: number; readonly gid: number } {
  const find = (kind: 'isuid' | 'isgid'): number =>
    map.find((entry) => entry[kind] && entry.nsid === 0 && entry.maprange > 0)?.hostid ?? 0;
  return { uid: find('isuid'), gid: find('isgid') };
}

/** A container's id as the host sees it; undefined when the map does not contain it. */
export function toHostId(map: readonly IdMapEntry[], kind: 'uid' | 'gid', id: number): number | undefined {
  if (map.length === 0) return id;
  const flag = kind === 'uid' ? 'isuid' : 'isgid';
  const entry = map.find((one) => one[flag] && id >= one.nsid && id < one.nsid + one.maprange);
  return entry === undefined ? undefined : entry.hostid + (id - entry.nsid);
}

const nobody = 65_534;

/** A host id as the container sees it: nobody when the map does not contain it. */
export function toGuestId(map: readonly IdMapEntry[], kind: 'uid' | 'gid', hostId: number): number {
  if (map.length === 0) return hostId;
  const flag = kind === 'uid' ? 'isuid' : 'isgid';
  const entry = map.find((one) => one[flag] && hostId >= one.hostid && hostId < one.hostid + one.maprange);
  return entry === undefined ? nobody : entry.nsid + (hostId - entry.hostid);
}
