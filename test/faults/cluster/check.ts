// Checks histories for answers that a cluster must never give. Each rule names its anomaly; `linearize` finds the rest. Pure.
import { describeEntry, describeSeen, type Entry, type History, type Seen, type Sighting } from './history.ts';
import { linearize } from './linearize.ts';

export interface Findings {
  /** One line for each anomaly. */
  readonly wrong: readonly string[];
  /** Objects with too many operations of unknown outcome to try every order. */
  readonly undecided: readonly string[];
}

/** `last`: the final state of each object. */
export function check(history: History, last: ReadonlyMap<string, Seen> = new Map()): Findings {
  const wrong: string[] = [...twiceAtOnce(history.sightings)];
  const undecided: string[] = [];
  for (const [object, entries] of byObject(history.entries)) {
    const final = last.has(object) ? [finalRead(object, entries, last.get(object))] : [];
    const all = [...entries, ...final];
    const named = [...twoWinners(all), ...strangeReads(all), ...staleReads(all), ...lostWrites(all, final[0])];
    wrong.push(...named);
    const verdict = linearize(all);
    if (verdict.fits === undefined) undecided.push(object);
    // The same anomaly would be shown twice.
    if (verdict.fits === false && named.length === 0) wrong.push(verdict.why);
  }
  return { wrong: [...new Set(wrong)], undecided };
}

function byObject(entries: readonly Entry[]): ReadonlyMap<string, readonly Entry[]> {
  const found = new Map<string, Entry[]>();
  for (const entry of entries) {
    const list = found.get(entry.object);
    if (list === undefined) found.set(entry.object, [entry]);
    else list.push(entry);
  }
  return found;
}

function finalRead(object: string, entries: readonly Entry[], saw: Seen): Entry {
  const end = entries.reduce((max, entry) => Math.max(max, entry.end), 0) + 1;
  return { client: -1, member: 'all', object, action: { type: 'read', saw }, start: end, end, outcome: 'ok' };
}

/** Two clients succeeded with If-Match for the same content. */
function twoWinners(entries: readonly Entry[]): readonly string[] {
  const winners = new Map<string, Entry>();
  return entries.flatMap((entry) => {
    if (entry.outcome !== 'ok' || entry.action.type !== 'update' || entry.action.from === undefined) return [];
    const earlier = winners.get(entry.action.from);
    winners.set(entry.action.from, entry);
    return earlier === undefined
      ? []
      : [`two writers won the same If-Match: ${describeEntry(earlier)}; ${describeEntry(entry)}`];
  });
}

const valueOf = ({ action }: Entry): string | undefined =>
  action.type === 'create' || action.type === 'update' ? action.value : undefined;

/** A read shows content that was never written, was refused, or was only written later. */
function strangeReads(entries: readonly Entry[]): readonly string[] {
  const writes = new Map(entries.flatMap((entry) => (valueOf(entry) === undefined ? [] : [[valueOf(entry), entry]])));
  return reads(entries).flatMap(({ entry, saw }) => {
    if (saw === undefined) return [];
    const write = writes.get(saw.value);
    if (write === undefined) return [`nobody wrote what was read: ${describeEntry(entry)}`];
    const isDenied = write.outcome === 'refused' || write.outcome === 'failed';
    if (isDenied) return [`a ${write.outcome} write was applied: ${describeEntry(write)}; ${describeEntry(entry)}`];
    return write.start > entry.end ? [`read before it was written: ${describeEntry(entry)}`] : [];
  });
}

/** A read that began after an acknowledged change shows the old state. */
function staleReads(entries: readonly Entry[]): readonly string[] {
  const writes = new Map(entries.flatMap((entry) => (valueOf(entry) === undefined ? [] : [[valueOf(entry), entry]])));
  const acked = entries.filter(({ outcome, action }) => outcome === 'ok' && action.type !== 'read');
  const updates = new Map(
    acked.flatMap((e) => (e.action.type === 'update' && e.action.from ? [[e.action.from, e]] : [])),
  );
  const deletes = acked.filter(({ action }) => action.type === 'delete');
  return reads(entries).flatMap(({ entry, saw }) => {
    if (entry.client === -1) return [];
    if (saw === undefined) return staleAbsence(entry, entries);
    const write = writes.get(saw.value);
    const replaced = updates.get(saw.value);
    const gone = deletes.find(({ start, end }) => write !== undefined && write.end < start && end < entry.start);
    const newer = replaced !== undefined && replaced.end < entry.start ? replaced : gone;
    return newer === undefined ? [] : [`a stale read: ${describeEntry(entry)}, after ${describeEntry(newer)}`];
  });
}

/** A read shows no object although a creation was acknowledged before and no deletion was requested since. */
function staleAbsence(read: Entry, entries: readonly Entry[]): readonly string[] {
  const created = entries.find(
    ({ action, outcome, end }) => action.type === 'create' && outcome === 'ok' && end < read.start,
  );
  const isDeleted = entries.some(
    ({ action, outcome, start }) =>
      action.type === 'delete' &&
      action.from === undefined &&
      (outcome === 'ok' || outcome === 'unknown') &&
      start <= read.end,
  );
  return created === undefined || isDeleted
    ? []
    : [`a stale read: ${describeEntry(read)}, after ${describeEntry(created)}`];
}

/** The final state lacks an acknowledged update that nothing has replaced. */
function lostWrites(entries: readonly Entry[], final: Entry | undefined): readonly string[] {
  if (final?.action.type !== 'read') return [];
  const { saw } = final.action;
  const mayApply = entries.filter(({ outcome }) => outcome === 'ok' || outcome === 'unknown');
  return entries.flatMap((entry) => {
    const value = valueOf(entry);
    if (entry.outcome !== 'ok' || value === undefined || value === saw?.value) return [];
    const isReplaced = mayApply.some(
      ({ action, end, outcome }) =>
        (action.type === 'update' || action.type === 'delete') &&
        (action.from === value || (action.from === undefined && (outcome === 'unknown' || end > entry.start))),
    );
    return isReplaced ? [] : [`an acknowledged write is lost: ${describeEntry(entry)}; at rest: ${describeSeen(saw)}`];
  });
}

function twiceAtOnce(sightings: readonly Sighting[]): readonly string[] {
  return sightings.flatMap(({ at, running }) => {
    const places = new Map<string, string[]>();
    for (const [member, names] of Object.entries(running)) {
      for (const name of new Set(names)) places.set(name, [...(places.get(name) ?? []), member]);
    }
    return [...places]
      .filter(([, members]) => members.length > 1)
      .map(([name, members]) => `${name} was on ${members.join(' and ')} at once, at ${at.toFixed(1)} ms`);
  });
}

const reads = (entries: readonly Entry[]) =>
  entries.flatMap((entry) =>
    entry.action.type === 'read' && entry.outcome === 'ok' ? [{ entry, saw: entry.action.saw }] : [],
  );
