// Typed documents over the store: an in-memory view of every record, and transactions that update both together.
import { type Compare, type Op, type Store, StoreError } from '../store/store.ts';
import { Changes, type Guard } from './changes.ts';
import type { Collections } from './collection.ts';
import { Contents, type SharedListener } from './contents.ts';
import type { Kind } from './documents.ts';
import { follow, readAll } from './follower.ts';
import { KeySpace } from './key-space.ts';
import type { OtherMembers } from './other-members.ts';
import { refuseTooLarge } from './too-large.ts';
import { Turns } from './turns.ts';

export { Changes, type Guard, type Put } from './changes.ts';
export { Collection, type Entry } from './collection.ts';

/** A concurrent change modified a record of the transaction first; the view is refreshed, so retry on it. */
export class RecordConflict extends Error {
  override readonly name = 'RecordConflict';
}

/** The transaction may have been applied: the store could not tell. */
export const isOutcomeUnknown = (error: unknown): boolean => error instanceof StoreError && error.code === 'Unknown';

/** How long to wait for another member's changes to arrive. */
const catchUpMs = 2_000;
/** How long a change may keep losing to other members. */
const turnMs = 10_000;

interface View extends Collections {
  readonly contents: Contents;
}

/** Each collection is a property, named by its kind. */
const CollectionsOf = class {
  readonly contents: Contents;

  constructor(contents: Contents) {
    this.contents = contents;
    Object.assign(this, contents.collections);
  }
} as new (contents: Contents) => View;

export class Records extends CollectionsOf {
  #store: Store;
  /** How many pending transactions require each key: a compare cannot see an unacknowledged user. */
  readonly #required = new Map<string, number>();
  /** Transactions that the store has not acknowledged yet. */
  readonly #pending = new Set<Changes>();
  #guard: Guard = () => {};
  /** The store has other writers; a watch delivers their changes. */
  #isFollowing = false;
  /** Set while the records move to another store. */
  #moving: Promise<void> | undefined;
  readonly #turns = new Turns();
  readonly #writeListeners = new Set<() => void>();
  readonly #views = new Map<number, WeakRef<Records>>();

  private constructor(store: Store, space: KeySpace) {
    super(new Contents(space));
    this.#store = store;
  }

  /** Reads every record once. `member`: the number of this host in its cluster. Throws StoreError Corrupt naming the first unreadable
   *  record. */
  static async open(store: Store, member?: number): Promise<Records> {
    const records = new Records(store, new KeySpace(member));
    await readAll(store, records.contents);
    return records;
  }

  /** The view of another member, to read, as of now: its own records and the shared ones. */
  as(member: number): Records {
    const kept = this.#views.get(member)?.deref();
    if (kept?.contents.rev === this.contents.rev) return kept;
    const view = new Records(this.#store, new KeySpace(member));
    this.contents.fill(view.contents, member);
    this.#views.set(member, new WeakRef(view));
    return view;
  }

  /** The number of this host in its cluster; undefined outside one. */
  get member(): number | undefined {
    return this.contents.space.member;
  }

  get others(): OtherMembers {
    return this.contents.others;
  }

  isContainerName(name: string): boolean {
    return this.containers.has(name) || this.others.get('containers', name) !== undefined;
  }

  /** Refuses every later transaction for which the guard throws. */
  guardWith(guard: Guard): void {
    this.#guard = guard;
  }

  /** Throws if the guard would refuse such a transaction; changes nothing. */
  check(build: (changes: Changes) => void): void {
    const changes = new Changes(this.contents);
    build(changes);
    this.#guard(changes, [...this.#pending]);
  }

  /** Durable and visible in the view when it resolves. Throws RecordConflict (nothing changed, view refreshed). */
  async commit(build: (changes: Changes) => void): Promise<void> {
    while (this.#moving !== undefined) await this.#moving;
    const changes = this.#built(build);
    if (changes.turns.length === 0) return this.#send(changes);
    // Transactions of this member wait here, so that they do not conflict with each other.
    await this.#turns.run(changes.turns, () => this.#sendInTurn(build));
  }

  /** Rebuilds the transaction whenever another member was first. */
  async #sendInTurn(build: (changes: Changes) => void): Promise<void> {
    const over = AbortSignal.timeout(turnMs);
    for (;;) {
      while (this.#moving !== undefined) await this.#moving;
      try {
        return await this.#send(this.#built(build));
      } catch (error) {
        if (!(error instanceof RecordConflict) || over.aborted) throw error;
        await this.#catchUp();
      }
    }
  }

  #built(build: (changes: Changes) => void): Changes {
    const changes = new Changes(this.contents);
    build(changes);
    if (changes.ops.length > 0) {
      refuseTooLarge(changes);
      this.#guard(changes, [...this.#pending]);
    }
    return changes;
  }

  async #send(changes: Changes): Promise<void> {
    if (changes.ops.length === 0) return;
    const needed = changes.claimed.find((key) => this.#required.has(key));
    if (needed !== undefined) throw new RecordConflict(`The record ${needed} is about to be used`);
    await this.#holding(changes, () => this.#write(changes));
  }

  /** Commits the result of `decide` on the current view; rebuilds it on a conflict, at most `attempts` times. */
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

  /** Follows a store with other writers. Ends with the signal; `onTrouble` gets errors. */
  async follow(signal: AbortSignal, onTrouble: (error: unknown) => void): Promise<void> {
    this.#isFollowing = true;
    try {
      await follow(this.#store, this.contents, signal, onTrouble);
    } finally {
      this.#isFollowing = false;
    }
  }

  /** Called for each shared record that another member has changed. Returns the unsubscribe function. */
  onShared(listener: SharedListener): () => void {
    return this.contents.onShared(listener);
  }

  /** Called after each transaction of this daemon. Returns the unsubscribe function. */
  onWrite(listener: () => void): () => void {
    this.#writeListeners.add(listener);
    return () => this.#writeListeners.delete(listener);
  }

  /** Deletes records of a removed member; the view follows through the watch. */
  async deleteKeys(keys: readonly string[]): Promise<void> {
    await this.#store.txn(
      [],
      keys.map((del) => ({ del })),
    );
  }

  /** Writes records by key, also of other members; the view follows through the watch. False if a compare failed. */
  async writeKeys(compares: readonly Compare[], ops: readonly Op[]): Promise<boolean> {
    return (await this.#store.txn(compares, ops)).ok;
  }

  /** No transaction runs while `work` moves the records to the store that it returns; later ones use that store. If it throws, nothing
   *  changes. */
  async moveTo(member: number | undefined, work: (from: Store) => Promise<Store>): Promise<void> {
    while (this.#moving !== undefined) await this.#moving;
    let moved: () => void = () => {};
    this.#moving = new Promise((resolve) => {
      moved = resolve;
    });
    try {
      while (this.#pending.size > 0) await new Promise((resolve) => setTimeout(resolve, 2));
      const store = await work(this.#store);
      this.#store = store;
      this.contents.begin(new KeySpace(member));
      await readAll(store, this.contents);
    } finally {
      this.#moving = undefined;
      moved();
    }
  }

  /** The view is of neither store. */
  get isMoving(): boolean {
    return this.#moving !== undefined;
  }

  async #write(changes: Changes): Promise<void> {
    const { ok, rev } = await this.#store.txn(changes.compares, changes.ops);
    if (!ok) {
      // Otherwise the view stays old, and the next attempt conflicts again.
      if (this.#isFollowing) await this.#catchUp().catch(() => {});
      else for (const { kind, name } of changes.touched) await this.#refresh(kind, name);
      throw new RecordConflict(
        `Records changed meanwhile: ${changes.touched.map((t) => changes.keyOf(t.kind, t.name)).join(', ')}`,
      );
    }
    for (const accept of changes.accepts) accept(rev);
    for (const listener of this.#writeListeners) listener();
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

  /** Another member wrote first: waits for its changes. */
  async #catchUp(): Promise<void> {
    const rev = await this.#store.lastWrite();
    await this.contents.reached(rev, AbortSignal.timeout(catchUpMs));
  }

  /** Without other writers or followers of the store a late answer is not older than the view. */
  async #refresh(kind: Kind, name: string): Promise<void> {
    const key = this.contents.space.keyOf(kind, name);
    const record = await this.#store.get(key);
    if (record === undefined) {
      if (this[kind].has(name)) this[kind].accept(name, undefined);
    } else this.contents.take(record);
  }
}
