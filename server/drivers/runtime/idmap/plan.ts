// Plans the id map of one container from its keys and the ids of other containers (real system section 24). Pure.
import { isTrue, shown } from '../../../api/text/value-checks.ts';
import type { IdMapEntry } from '../driver.ts';
import { defaultMap, entryOf, type HostIds, type IdRange, smallestRange } from './id-map.ts';

type Config = Readonly<Record<string, string>>;

export interface ReservedIds extends IdRange {
  /** No other container may have them. raw.idmap of several containers may name the same ids, but these are never assigned. */
  readonly isolated: boolean;
}

export interface TakenIds extends ReservedIds {
  readonly owner: string;
}

export interface IdMapPlan {
  /** Empty = privileged. */
  readonly map: readonly IdMapEntry[];
  /** First host id of an isolated map; 0 = the common map. */
  readonly base: number;
  readonly reserved: readonly ReservedIds[];
}

/** `key` has the invalid value. */
export interface IdMapProblem {
  readonly key: string;
  readonly message: string;
}

interface RawLine {
  readonly text: string;
  readonly kinds: readonly IdKind[];
  readonly host: number;
  readonly inside: number;
  readonly count: number;
}

const hostRange = (line: RawLine): IdRange => ({ start: line.host, count: line.count });

type IdKind = 'uid' | 'gid';
const idKinds = ['uid', 'gid'] as const;
/** The kernel's limit of lines in a map. */
const maxLines = 340;

const isIsolated = (config: Config): boolean =>
  !isTrue(config['security.privileged']) && isTrue(config['security.idmap.isolated']);
const sizeOf = (config: Config): number => Number(config['security.idmap.size'] || smallestRange);
const end = ({ start, count }: IdRange): number => start + count;
const overlap = (a: IdRange, b: IdRange): boolean => a.start < end(b) && b.start < end(a);
const isWithin = (inner: IdRange, outer: IdRange): boolean => inner.start >= outer.start && end(inner) <= end(outer);
const text = (range: IdRange): string => `${range.start}-${end(range) - 1}`;

/** `keptBase`: its previous base, kept if possible. `taken`: reservations of all other containers. The config has passed its own checks
 *  (server/api). The first 65536 ids of the host's range are never assigned without a request: ordinary users of containers with the common
 *  map have them. */
export function planIdMap(
  ids: HostIds,
  config: Config,
  keptBase: number | undefined,
  taken: () => readonly TakenIds[],
): IdMapPlan | IdMapProblem {
  const raw = parseRawIdMap(config['raw.idmap'] ?? '');
  const others = raw.length > 0 || isIsolated(config) ? taken() : [];
  const refused = raw.map((line) => refuseLine(ids, raw, line, others)).find((problem) => problem !== undefined);
  if (refused !== undefined) return rawProblem(config, refused);
  if (isTrue(config['security.privileged'])) return { map: [], base: 0, reserved: [] };
  if (!isIsolated(config)) return withRaw(config, defaultMap(ids), 0, [], raw);
  const slice = chooseSlice(ids, config, keptBase, others, raw);
  if ('message' in slice) return slice;
  const main = (kind: IdKind): IdMapEntry => entryOf(kind, slice.start, 0, slice.count);
  return withRaw(config, idKinds.map(main), slice.start, [slice], raw);
}

function parseRawIdMap(value: string): readonly RawLine[] {
  return value.split('\n').flatMap((line): readonly RawLine[] => {
    const match = /^\s*(both|uid|gid) ([0-9]+)(?:-([0-9]+))? ([0-9]+)(?:-[0-9]+)?\s*$/.exec(line);
    if (match === null) return [];
    const host = Number(match[2]);
    return [
      {
        text: line.trim(),
        kinds: match[1] === 'both' ? idKinds : [match[1] === 'uid' ? 'uid' : 'gid'],
        host,
        inside: Number(match[4]),
        count: Number(match[3] ?? host) - host + 1,
      },
    ];
  });
}

/** The end of a sentence about the line. */
function refuseLine(
  ids: HostIds,
  all: readonly RawLine[],
  line: RawLine,
  taken: readonly TakenIds[],
): string | undefined {
  const host = hostRange(line);
  for (const kind of line.kinds) {
    if (!ids.allowed[kind].some((range) => isWithin(host, range))) {
      const file = kind === 'uid' ? '/etc/subuid' : '/etc/subgid';
      return `${shown(line.text)} names host ${kind}s that are not root's to give: add "root:${line.host}:${line.count}" to ${file} and start the daemon again`;
    }
  }
  const isolated = taken.find((one) => one.isolated && overlap(one, host));
  if (isolated !== undefined) {
    return `${shown(line.text)} names host ids of the isolated container ${isolated.owner}, which has ${text(isolated)}`;
  }
  const twice = all.find(
    (other) =>
      other !== line &&
      other.kinds.some((kind) => line.kinds.includes(kind)) &&
      (overlap(host, hostRange(other)) ||
        overlap({ start: line.inside, count: line.count }, { start: other.inside, count: other.count })),
  );
  return twice === undefined ? undefined : `${shown(line.text)} and ${shown(twice.text)} map the same id twice`;
}

const rawProblem = (config: Config, why: string): IdMapProblem => ({
  key: 'raw.idmap',
  message: `raw.idmap cannot be ${shown(config['raw.idmap'] ?? '')}: the line ${why}`,
});

function chooseSlice(
  ids: HostIds,
  config: Config,
  keptBase: number | undefined,
  taken: readonly TakenIds[],
  raw: readonly RawLine[],
): IdRange | IdMapProblem {
  const count = sizeOf(config);
  const start = Math.max(ids.uids.start, ids.gids.start);
  const host = { start, count: Math.min(end(ids.uids), end(ids.gids)) - start };
  const sizeKey = (config['security.idmap.size'] ?? '') === '' ? 'security.idmap.isolated' : 'security.idmap.size';
  if (count > host.count) {
    const why = `it must fit into the ${host.count} ids that this host lends (${text(host)})`;
    return { key: sizeKey, message: `security.idmap.size cannot be "${count}": ${why}` };
  }
  const fixed = config['security.idmap.base'] ?? '';
  if (fixed !== '') return checkBase({ start: Number(fixed), count }, host, taken);
  const own = raw.map((line): TakenIds => ({ owner: '', isolated: false, ...hostRange(line) }));
  const found = findFree(host, count, keptBase, [...taken, ...own]);
  if (found !== undefined) return found;
  const why = `no ${count} ids in a row are left of the ${host.count} that this host lends (${text(host)})`;
  return {
    key: sizeKey,
    message: `${sizeKey} cannot be ${shown(config[sizeKey] ?? '')}: ${why}; add to root's entries in /etc/subuid and /etc/subgid`,
  };
}

function checkBase(wanted: IdRange, host: IdRange, taken: readonly TakenIds[]): IdRange | IdMapProblem {
  const clash = taken.find((one) => overlap(one, wanted));
  if (isWithin(wanted, host) && clash === undefined) return wanted;
  const why =
    clash === undefined || !isWithin(wanted, host)
      ? `the ids ${text(wanted)} must lie within those that this host lends (${text(host)})`
      : `of the ids ${text(wanted)} the container ${clash.owner} has ${text(clash)}`;
  return { key: 'security.idmap.base', message: `security.idmap.base cannot be "${wanted.start}": ${why}` };
}

/** The previous place if still free, else the first gap. */
function findFree(
  host: IdRange,
  count: number,
  keptBase: number | undefined,
  taken: readonly TakenIds[],
): IdRange | undefined {
  const isFree = (range: IdRange): boolean => isWithin(range, host) && !taken.some((one) => overlap(one, range));
  if (keptBase !== undefined && keptBase > 0 && isFree({ start: keptBase, count })) return { start: keptBase, count };
  const first = host.start + smallestRange;
  const starts = [first, ...taken.map(end).filter((start) => start > first)].toSorted((a, b) => a - b);
  const start = starts.find((one) => isFree({ start: one, count }));
  return start === undefined ? undefined : { start, count };
}

/** Replaces the map's entries for the container ids of raw.idmap by its lines. */
function withRaw(
  config: Config,
  main: readonly IdMapEntry[],
  base: number,
  slices: readonly IdRange[],
  raw: readonly RawLine[],
): IdMapPlan | IdMapProblem {
  const map: IdMapEntry[] = [];
  for (const kind of idKinds) {
    const lines = raw.filter((line) => line.kinds.includes(kind)).toSorted((a, b) => a.inside - b.inside);
    const entries = punch(
      main.filter((entry) => (kind === 'uid' ? entry.isuid : entry.isgid)),
      kind,
      lines,
    );
    for (const line of lines) {
      const clash = entries.find((entry) => overlap({ start: entry.hostid, count: entry.maprange }, hostRange(line)));
      if (clash !== undefined) {
        return rawProblem(
          config,
          `${shown(line.text)} names host ${kind}s that the rest of the container's map has already`,
        );
      }
      entries.push(entryOf(kind, line.host, line.inside, line.count));
    }
    if (entries.length > maxLines) return rawProblem(config, `count makes a map of more than ${maxLines} parts`);
    map.push(...entries.toSorted((a, b) => a.nsid - b.nsid));
  }
  const reserved = [
    ...slices.map((slice) => ({ ...slice, isolated: true })),
    ...raw.map((line) => ({ ...hostRange(line), isolated: false })),
  ];
  return { map, base, reserved };
}

/** The main entry without the container ids of the lines, which are sorted. */
function punch(main: readonly IdMapEntry[], kind: IdKind, lines: readonly RawLine[]): IdMapEntry[] {
  const left: IdMapEntry[] = [];
  for (const entry of main) {
    let from = entry.nsid;
    const put = (until: number): void => {
      if (until > from) left.push(entryOf(kind, entry.hostid + from - entry.nsid, from, until - from));
    };
    const last = entry.nsid + entry.maprange;
    for (const line of lines) {
      if (line.inside >= last) break;
      put(line.inside);
      from = Math.max(from, line.inside + line.count);
    }
    put(last);
  }
  return left;
}

/** The form of volatile.idmap.* and volatile.last_state.idmap. */
export function renderIdMap(map: readonly IdMapEntry[]): string {
  return JSON.stringify(
    map.map(({ isuid, isgid, hostid, nsid, maprange }) => ({
      Isuid: isuid,
      Isgid: isgid,
      Hostid: hostid,
      Nsid: nsid,
      Maprange: maprange,
    })),
  );
}

/** Undefined for text that is no id map. */
export function parseIdMap(value: string | undefined): readonly IdMapEntry[] | undefined {
  if (value === undefined || value === '') return undefined;
  try {
    const parsed: unknown = JSON.parse(value);
    return Array.isArray(parsed) ? parsed.map(parseEntry) : undefined;
  } catch {
    return undefined;
  }
}

function parseEntry(value: unknown): IdMapEntry {
  const { Isuid, Isgid, Hostid, Nsid, Maprange } = value as Readonly<Record<string, unknown>>;
  const numbers = [Hostid, Nsid, Maprange];
  if (!numbers.every((one) => Number.isSafeInteger(one))) throw new Error('not an id map');
  return {
    isuid: Isuid === true,
    isgid: Isgid === true,
    hostid: Number(Hostid),
    nsid: Number(Nsid),
    maprange: Number(Maprange),
  };
}

export const sameMap = (a: readonly IdMapEntry[], b: readonly IdMapEntry[]): boolean =>
  renderIdMap(a) === renderIdMap(b);

/** Host ids of a map outside the common one. */
export function rangesOf(ids: HostIds, map: readonly IdMapEntry[]): readonly ReservedIds[] {
  return idKinds.flatMap((kind) => {
    const entries = map.filter((entry) => (kind === 'uid' ? entry.isuid : entry.isgid));
    const [largest] = entries.toSorted((a, b) => b.maprange - a.maprange);
    const base = largest === undefined ? 0 : largest.hostid - largest.nsid;
    const isMain = (entry: IdMapEntry): boolean => entry.hostid - entry.nsid === base;
    const range = kind === 'uid' ? ids.uids : ids.gids;
    const isShared =
      base === range.start && entries.some((one) => isMain(one) && one.nsid + one.maprange === range.count);
    return entries
      .filter((entry) => !isShared || !isMain(entry))
      .map((entry) => ({ start: entry.hostid, count: entry.maprange, isolated: isMain(entry) }));
  });
}
