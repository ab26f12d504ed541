// Typed documents over the store: an in-memory view of every record, and transactions that update both together.
import type { Rev, Store } from '../store/store.ts';
import { Changes, type Guard } from './changes.ts';
import { decodeDocument, recordKey } from './codec.ts';
import { Collection, type Collections } from './collection.ts';
import { kindNames, type Kind } from './documents.ts';
import { Follower } from './follower.ts';

export { Changes, type Guard, type Put } from './changes.ts';
export { Collection, type Entry } from './collection.ts';

/** A concurrent change modified a record of the transaction first; the view is refreshed, try again on it. */
export class RecordConflict extends Error {
  override readonly name = 'RecordConflict';
}

export class Records {
  readonly #store: Store;
  readonly #collections: Collections;
  /** How many transactions in progress need a key to exist: a compare cannot see an unacknowledged user. */
  readonly #required = new Map<string, number>();
  /** The view shows at least this revision of the store. */
  #readAt: Rev = Number.POSITIVE_INFINITY;
  /** Transactions that the store has not acknowledged yet. */
  readonly #pending = new Set<Changes>();
  #guard: Guard = () => {};

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

  /** From now on no transaction passes that the guard refuses. */
  guardWith(guard: Guard): void {
    this.#guard = guard;
  }

  /** Throws what the guard would throw for such a transaction; changes nothing. */
  check(build: (changes: Changes) => void): void {
    const changes = new Changes(this.#collections);
    build(changes);
    this.#guard(changes, [...this.#pending]);
  }

  /** Durable and visible in the view when it resolves. Throws RecordConflict (nothing changed, view refreshed). */
  async commit(build: (changes: Changes) => void): Promise<void> {
    const changes = new Changes(this.#collections);
    build(changes);
    if (changes.ops.length === 0) return;
    this.#guard(changes, [...this.#pending]);
    const needed = changes.claimed.find((key) => this.#required.has(key));
    if (needed !== undefined) throw new RecordConflict(`The record ${needed} is being put to use`);
    await this.#holding(changes, () => this.#write(changes));
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

  /** Needed when others can write to the store. Ends with the signal; `onTrouble` gets what is in the way. */
  async follow(signal: AbortSignal, onTrouble: (error: unknown) => void): Promise<void> {
    await new Follower(this.#store, this.#collections, this.#readAt).follow(signal, onTrouble);
  }

  async #write(changes: Changes): Promise<void> {
    const { ok, rev } = await this.#store.txn(changes.compares, changes.ops);
    if (!ok) {
      for (const { kind, name } of changes.touched) await this.#refresh(kind, name);
      throw new RecordConflict(
        `Records changed meanwhile: ${changes.touched.map((t) => recordKey(t.kind, t.name)).join(', ')}`,
      );
    }
    for (const accept of changes.accepts) accept(rev);
  }

  async #holding(changes: Changes, work: () => Promise<void>): Promise<void> {
    const keys = changes.required;
    for (const key of keys) this.#required.set(key, (this.#required.get(key) ?? 0) + 1);
    this.#pending.add(changes);
    try {
      await work();
    } finally {
      this.#pending.delete(changes);
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
      this.#readAt = Math.min(this.#readAt, page.rev);
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
