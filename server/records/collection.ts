// The records of one kind in memory, ordered, with their recent changes.
import type { Rev } from '../store/store.ts';
import type { Documents, Kind } from './documents.ts';
import { firstFrom } from './sorted-names.ts';

export interface Entry<T> {
  readonly name: string;
  readonly document: T;
  /** Differs from that of an earlier record of the same name. Absent: the view of another member. */
  readonly createRev?: Rev;
  readonly modRev: Rev;
}

/** A reader that is further behind re-reads everything. */
const rememberedChanges = 1024;

/** The records of one kind as of the last acknowledged write. Reads are synchronous. */
export class Collection<K extends Kind> {
  readonly kind: K;
  /** Grows with every change of the collection: derived data may be cached until then. */
  generation = 0;
  readonly #entries = new Map<string, Entry<Documents[K]>>();
  #sorted: readonly Entry<Documents[K]>[] | undefined;
  /** Names that changed, latest last: the last change made the current generation. */
  readonly #changed: string[] = [];

  constructor(kind: K) {
    this.kind = kind;
  }

  get(name: string): Entry<Documents[K]> | undefined {
    return this.#entries.get(name);
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** In order of name. */
  list(): readonly Entry<Documents[K]>[] {
    this.#sorted ??= [...this.#entries.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return this.#sorted;
  }

  /** Names of records changed, added or removed since that generation; undefined if that is too long ago. */
  changedSince(generation: number): ReadonlySet<string> | undefined {
    const count = this.generation - generation;
    return count > this.#changed.length ? undefined : new Set(this.#changed.slice(this.#changed.length - count));
  }

  /** Another writer's later change may arrive before this writer's acknowledgement. */
  isNewerThan(name: string, rev: Rev): boolean {
    return (this.#entries.get(name)?.modRev ?? 0) > rev;
  }

  /** Only for Records, after the store has acknowledged. */
  accept(name: string, entry: Entry<Documents[K]> | undefined): void {
    if (this.#sorted !== undefined) this.#sorted = replaced(this.#sorted, name, entry);
    if (entry === undefined) this.#entries.delete(name);
    else this.#entries.set(name, entry);
    this.generation += 1;
    this.#changed.push(name);
    if (this.#changed.length >= 2 * rememberedChanges) this.#changed.splice(0, rememberedChanges);
  }
}

/** A copy: a reader of the list keeps its old contents. */
function replaced<T>(sorted: readonly Entry<T>[], name: string, entry: Entry<T> | undefined): readonly Entry<T>[] {
  const from = firstFrom(sorted, name);
  return sorted.toSpliced(from, sorted[from]?.name === name ? 1 : 0, ...(entry === undefined ? [] : [entry]));
}

export type Collections = { readonly [K in Kind]: Collection<K> };
