// Typed documents over the store: an in-memory view of every record, and transactions that update both together.
import type { Compare, Op, Rev, Store } from '../store/store.ts';
import { decodeDocument, encodeDocument, recordKey } from './codec.ts';
import { kindNames, type Documents, type Kind } from './documents.ts';

export interface Entry<T> {
  readonly name: string;
  readonly document: T;
  readonly modRev: Rev;
}

/** A reader that checks less often than this reads everything again. */
const rememberedChanges = 1024;

/** The records of one kind as of the last acknowledged write. Reads are synchronous. */
export class Collection<K extends Kind> {
  readonly kind: K;
  /** Moves with every change of the collection: derived data may be cached until then. */
  generation = 0;
  readonly #entries = new Map<string, Entry<Documents[K]>>();
  #sorted: readonly Entry<Documents[K]>[] | undefined;
  /** Names that changed, the last one last: the change that made the current generation. */
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

  /** Names of records that changed, appeared or vanished since that generation; undefined when that is too long ago. */
  changedSince(generation: number): ReadonlySet<string> | undefined {
    const count = this.generation - generation;
    return count > this.#changed.length ? undefined : new Set(this.#changed.slice(this.#changed.length - count));
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
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sorted[middle]?.name ?? '') < name) from = middle + 1;
    else to = middle;
  }
  return sorted.toSpliced(from, sorted[from]?.name === name ? 1 : 0, ...(entry === undefined ? [] : [entry]));
}

type Collections = { readonly [K in Kind]: Collection<K> };

/** A concurrent change modified a record of the transaction first; the view is refreshed, try again on it. */
export class RecordConflict extends Error {
  override readonly name = 'RecordConflict';
}

/** The changes of one transaction. Each is bound to the version of the record in the view when it was added. */
export class Changes {
  readonly #collections: Collections;
  readonly compares: Compare[] = [];
  readonly ops: Op[] = [];
  readonly accepts: ((rev: Rev) => void)[] = [];
  readonly touched: { readonly kind: Kind; readonly name: string }[] = [];
  /** Keys that must continue to exist while the transaction is in progress. */
  readonly required: string[] = [];
  /** Keys that no transaction in progress may require. */
  readonly claimed: string[] = [];

  constructor(collections: Collections) {
    this.#collections = collections;
  }

  put<K extends Kind>(kind: K, name: string, document: Documents[K]): void {
    this.#bind(kind, name);
    this.ops.push({ put: recordKey(kind, name), value: encodeDocument<K>(document) });
    const collection = this.#collections[kind] as unknown as Collection<K>;
    this.accepts.push((rev) => collection.accept(name, { name, document, modRev: rev }));
  }

  delete(kind: Kind, name: string): void {
    this.#bind(kind, name);
    this.ops.push({ del: recordKey(kind, name) });
    this.claimed.push(recordKey(kind, name));
    this.accepts.push(() => this.#collections[kind].accept(name, undefined));
  }

  /** The transaction succeeds only while this record stays unchanged. */
  require(kind: Kind, name: string): void {
    this.#bind(kind, name);
    this.required.push(recordKey(kind, name));
  }

  /** Like `require`, and fails while another transaction in progress requires it: for the first step of a deletion. */
  claim(kind: Kind, name: string): void {
    this.#bind(kind, name);
    this.claimed.push(recordKey(kind, name));
  }

  /** Records that the transaction puts, deletes or claims. */
  written(): readonly { readonly kind: Kind; readonly name: string }[] {
    const keys = new Set([...this.ops.map((op) => ('put' in op ? op.put : op.del)), ...this.claimed]);
    return this.touched.filter(({ kind, name }) => keys.has(recordKey(kind, name)));
  }

  #bind(kind: Kind, name: string): void {
    const key = recordKey(kind, name);
    if (this.compares.some((compare) => compare.key === key)) return;
    this.compares.push({ key, modRev: this.#collections[kind].get(name)?.modRev ?? 0 });
    this.touched.push({ kind, name });
  }
}

export class Records {
  readonly #store: Store;
  readonly #collections: Collections;
  /** How many transactions in progress need a key to exist: a compare cannot see an unacknowledged user. */
  readonly #required = new Map<string, number>();

  private constructor(store: Store) {
    this.#store = store;
    this.#collections = Object.fromEntries(
      kindNames.map((kind) => [kind, new Collection(kind)]),
    ) as unknown as Collections;
  }

  /** Reads every record once. Throws StoreError Corrupt naming the first unreadable one. */
  static async open(store: Store): Promise<Records> {
    const records = new Records(store);
    for (const kind of kindNames) await records.#load(kind);
    return records;
  }

  get containers(): Collection<'containers'> {
    return this.#collections.containers;
  }
  get snapshots(): Collection<'snapshots'> {
    return this.#collections.snapshots;
  }
  get backups(): Collection<'backups'> {
    return this.#collections.backups;
  }
  get profiles(): Collection<'profiles'> {
    return this.#collections.profiles;
  }
  get networks(): Collection<'networks'> {
    return this.#collections.networks;
  }
  get pools(): Collection<'pools'> {
    return this.#collections.pools;
  }
  get volumes(): Collection<'volumes'> {
    return this.#collections.volumes;
  }
  get volumeSnapshots(): Collection<'volumeSnapshots'> {
    return this.#collections.volumeSnapshots;
  }
  get images(): Collection<'images'> {
    return this.#collections.images;
  }
  get aliases(): Collection<'aliases'> {
    return this.#collections.aliases;
  }
  get certificates(): Collection<'certificates'> {
    return this.#collections.certificates;
  }
  get projects(): Collection<'projects'> {
    return this.#collections.projects;
  }
  get server(): Collection<'server'> {
    return this.#collections.server;
  }
  get sagas(): Collection<'sagas'> {
    return this.#collections.sagas;
  }

  /** Durable and visible in the view when it resolves. Throws RecordConflict (nothing changed, view refreshed). */
  async commit(build: (changes: Changes) => void): Promise<void> {
    const changes = new Changes(this.#collections);
    build(changes);
    if (changes.ops.length === 0) return;
    const needed = changes.claimed.find((key) => this.#required.has(key));
    if (needed !== undefined) throw new RecordConflict(`The record ${needed} is being put to use`);
    const { ok, rev } = await this.#holding(changes.required, () => this.#store.txn(changes.compares, changes.ops));
    if (!ok) {
      for (const { kind, name } of changes.touched) await this.#refresh(kind, name);
      throw new RecordConflict(
        `Records changed meanwhile: ${changes.touched.map((t) => recordKey(t.kind, t.name)).join(', ')}`,
      );
    }
    for (const accept of changes.accepts) accept(rev);
  }

  /** Commits the result of `build` on the current view; builds again on a conflict, at most `attempts` times. */
  async retry<T>(decide: (changes: Changes) => T, attempts = 20): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      let result: { readonly value: T } | undefined;
      try {
        await this.commit((changes) => {
          result = { value: decide(changes) };
        });
        if (result === undefined) throw new Error('commit did not decide');
        return result.value;
      } catch (error) {
        if (!(error instanceof RecordConflict) || attempt >= attempts) throw error;
        await new Promise((resolve) => setTimeout(resolve, attempt));
      }
    }
  }

  async #holding<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    for (const key of keys) this.#required.set(key, (this.#required.get(key) ?? 0) + 1);
    try {
      return await work();
    } finally {
      for (const key of keys) {
        const left = (this.#required.get(key) ?? 1) - 1;
        if (left === 0) this.#required.delete(key);
        else this.#required.set(key, left);
      }
    }
  }

  async #load<K extends Kind>(kind: K): Promise<void> {
    const prefix = recordKey(kind, '');
    const collection = this.#collections[kind] as unknown as Collection<K>;
    let after: string | undefined;
    for (;;) {
      const page = await this.#store.range(prefix, { limit: 1000, ...(after === undefined ? {} : { after }) });
      for (const record of page.records) {
        const name = record.key.slice(prefix.length);
        collection.accept(name, { name, document: decodeDocument(kind, name, record.value), modRev: record.modRev });
        after = record.key;
      }
      if (page.records.length < 1000) return;
    }
  }

  async #refresh<K extends Kind>(kind: K, name: string): Promise<void> {
    const record = await this.#store.get(recordKey(kind, name));
    const collection = this.#collections[kind] as unknown as Collection<K>;
    const known = collection.get(name);
    if (record === undefined) {
      if (known !== undefined) collection.accept(name, undefined);
    } else if (known === undefined || known.modRev < record.modRev) {
      collection.accept(name, { name, document: decodeDocument(kind, name, record.value), modRev: record.modRev });
    }
  }
}
