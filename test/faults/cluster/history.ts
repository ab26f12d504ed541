// Records the requests of clients and their answers with times, as the only input of the checker.
import { assertNever } from '../../../server/lib/shared/assert-never.ts';

/** State of one object: absent, or its content and, where objects have a place, the member that holds it. */
export type Seen = { readonly value: string; readonly on?: string } | undefined;

/** Every value is written only once, so a read value identifies its write. */
export type Action =
  | { readonly type: 'create'; readonly value: string; readonly on?: string }
  /** `from`: the content that If-Match named; without it the update is unconditional. */
  | { readonly type: 'update'; readonly value: string; readonly from?: string }
  /** `from`: only if it has this content, as when a creation is undone. */
  | { readonly type: 'delete'; readonly from?: string }
  | { readonly type: 'move'; readonly on: string }
  | { readonly type: 'read'; readonly saw: Seen };

/**
 * `ok`: done. `refused`: not done, because of the object's state at that moment (it exists, it is absent, it has other content).
 * `failed`: certainly not done, for another reason. `unknown`: done or not.
 */
export type Outcome = 'ok' | 'refused' | 'failed' | 'unknown';

export interface Entry {
  readonly client: number;
  /** The contacted member. */
  readonly member: string;
  readonly object: string;
  readonly action: Action;
  /** Milliseconds of one clock that all clients share. */
  readonly start: number;
  readonly end: number;
  readonly outcome: Outcome;
}

/** The containers that ran on each member at one moment. */
export interface Sighting {
  readonly at: number;
  readonly running: Readonly<Record<string, readonly string[]>>;
}

export interface History {
  readonly entries: readonly Entry[];
  readonly sightings: readonly Sighting[];
}

/** `isUndone`: the action may have been done and then undone. */
export type Answered = { readonly outcome: Outcome; readonly action?: Action; readonly isUndone?: boolean };

/** Collects entries while clients work. */
export class Recorder {
  readonly entries: Entry[] = [];
  readonly sightings: Sighting[] = [];
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get history(): History {
    return { entries: this.entries, sightings: this.sightings };
  }

  /** Records the answer of `ask`, whose `action` replaces the requested one (the value that a read saw). */
  async record(about: Pick<Entry, 'client' | 'member' | 'object' | 'action'>, ask: () => Promise<Answered>) {
    const start = this.#now();
    const { outcome, action = about.action, isUndone = false } = await ask();
    const entry: Entry = { ...about, action, start, end: this.#now(), outcome };
    this.entries.push(entry);
    if (isUndone && action.type === 'create')
      this.entries.push({ ...entry, action: { type: 'delete', from: action.value } });
    return entry;
  }

  /** Records one list as a read of each of `names`; unlisted ones as absent. */
  async recordList(
    about: Pick<Entry, 'client' | 'member'>,
    names: readonly string[],
    ask: () => Promise<ReadonlyMap<string, readonly Exclude<Seen, undefined>[]> | undefined>,
  ): Promise<void> {
    const start = this.#now();
    const shown = await ask();
    if (shown === undefined) return;
    const end = this.#now();
    for (const object of names) {
      const found = shown.get(object) ?? [undefined];
      for (const saw of found) {
        this.entries.push({ ...about, object, action: { type: 'read', saw }, start, end, outcome: 'ok' });
      }
      const places = [...new Set(found.map((saw) => saw?.on ?? '?'))];
      if (places.length > 1) this.see(Object.fromEntries(places.map((place) => [place, [object]])));
    }
  }

  see(running: Sighting['running']): void {
    this.sightings.push({ at: this.#now(), running });
  }
}

/** Longest time in which no change was acknowledged, in ms. */
export function longestStall(entries: readonly Entry[], from: number, to: number): number {
  const ends = entries
    .filter(({ action, outcome, end }) => action.type !== 'read' && outcome === 'ok' && end >= from && end <= to)
    .map(({ end }) => end)
    .toSorted((a, b) => a - b);
  return [...ends, to].reduce((max, end, index) => Math.max(max, end - (ends[index - 1] ?? from)), 0);
}

/** The smallest of the values that at least `share` of all do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

export const isWrite = ({ action }: Entry): boolean => action.type !== 'read';

export const describeEntry = ({ client, member, object, action, start, end }: Entry): string =>
  `client ${client}, asking ${member} from ${start.toFixed(1)} to ${end.toFixed(1)} ms, ${describe(action)} of ${object}`;

export const describeSeen = (saw: Seen): string =>
  saw === undefined ? 'absence' : `${saw.value}${saw.on === undefined ? '' : ` on ${saw.on}`}`;

function describe(action: Action): string {
  switch (action.type) {
    case 'create':
      return `create as ${action.value}`;
    case 'update':
      return `update${action.from === undefined ? '' : ` from ${action.from}`} to ${action.value}`;
    case 'delete':
      return action.from === undefined ? 'delete' : `undo of ${action.from}`;
    case 'move':
      return `move to ${action.on}`;
    case 'read':
      return `read (${describeSeen(action.saw)})`;
    default:
      return assertNever(action);
  }
}
