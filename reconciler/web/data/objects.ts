// The objects of the set that is shown: read page by page, then kept current by events. Ten thousand of them change in place.
import { signal } from '@preact/signals';
import type { ObjectSummary } from '../../controller/contract/index.ts';
import { api, reasonOf } from './api.ts';
import type { Entry } from './entry.ts';

export interface ObjectsState {
  readonly set: string;
  readonly entries: readonly Entry[];
  readonly isLoading: boolean;
  readonly error?: string;
  /** Grows when objects were added or removed, but not when a status changed: then the graph is laid out again. */
  readonly shape: number;
}

export const objectKey = (host: string, address: string): string => `${host} ${address}`;

export const objects = signal<ObjectsState>({ set: '', entries: [], isLoading: false, shape: 0 });
let places = new Map<string, number>();
let reading: AbortController | undefined;
/** Events that arrived while objects are read. They are applied afterwards, in order, so that the newest state of each object stays. */
let early: ObjectNews[] = [];

/** Reads all objects of a set; the old ones are shown until then. */
export async function readObjects(set: string): Promise<void> {
  reading?.abort();
  const mine = new AbortController();
  reading = mine;
  early = [];
  const before = objects.peek();
  objects.value = { set, entries: before.set === set ? before.entries : [], isLoading: true, shape: before.shape };
  try {
    const entries: Entry[] = [];
    let after: string | undefined;
    do {
      const page = await api.objectPage(set, after, mine.signal);
      for (const object of page.objects) entries.push(entryOf(object));
      after = page.next;
    } while (after !== undefined);
    show(set, entries, false);
    takeObjectNews(early);
    early = [];
  } catch (error) {
    if (mine.signal.aborted) return;
    objects.value = { ...objects.peek(), isLoading: false, error: reasonOf(error) };
  }
}

export interface ObjectNews {
  readonly set: string;
  readonly object: ObjectSummary;
  readonly isGone?: boolean | undefined;
}

/** Applies the events of one frame; those of other sets are ignored. */
export function takeObjectNews(all: readonly ObjectNews[]): void {
  const { set, entries, isLoading } = objects.peek();
  const news = all.filter((each) => each.set === set);
  if (news.length === 0) return;
  if (isLoading) return void early.push(...news);
  const next = entries.slice();
  const gone = new Set<string>();
  let isNew = false;
  for (const { object, isGone } of news) {
    const key = objectKey(object.host, object.address);
    const at = places.get(key);
    if (isGone) gone.add(key);
    else {
      gone.delete(key);
      if (at !== undefined) {
        isNew ||= next[at]?.object.dependsOn.join() !== object.dependsOn.join();
        next[at] = entryOf(object);
      } else {
        isNew = true;
        places.set(key, next.push(entryOf(object)) - 1);
      }
    }
  }
  if (gone.size === 0 && !isNew) objects.value = { ...objects.peek(), entries: next };
  else
    show(
      set,
      next.filter(({ key }) => !gone.has(key)),
      true,
    );
}

function show(set: string, entries: Entry[], mustSort: boolean): void {
  if (mustSort) entries.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  places = new Map(entries.map(({ key }, at) => [key, at]));
  objects.value = { set, entries, isLoading: false, shape: objects.peek().shape + 1 };
}

export function entryFor(key: string): Entry | undefined {
  const at = places.get(key);
  return at === undefined ? undefined : objects.value.entries[at];
}

const entryOf = (object: ObjectSummary): Entry => ({
  key: objectKey(object.host, object.address),
  object,
  text: `${object.address} ${object.host} ${object.message ?? ''}`.toLowerCase(),
});
