// Typed documents over the store: an in-memory view of every record, and transactions that update both together.
import type { Compare, Op, Store } from '../store/store.ts';
import { Changes, type Guard } from './changes.ts';
import type { Collection, Collections } from './collection.ts';
import { Contents, type SharedListener } from './contents.ts';
import type { Kind } from './documents.ts';
import { follow, readAll } from './follower.ts';
import { KeySpace } from './key-space.ts';
import type { OtherMembers } from './other-members.ts';
import { refuseTooLarge } from './too-large.ts';
import { Turns } from './turns.ts';

export { Changes, type Guard, type Put } from './changes.ts';
export { Collection, type Entry } from './collection.ts';

/** A concurrent change modified a record of the transaction first; the view is refreshed, try again on it. */
export class RecordConflict extends Error {
  override readonly name = 'RecordConflict';
}

/** For the changes of another member to arrive. */
const catchUpMs = 2_000;
/** For a change that other members are first to make room for, time after time. */
const turnMs = 10_000;

export class Records {
  #store: Store;
  readonly contents: Contents;
  readonly #collections: Collections;
  /** How many transactions in progress need a key to exist: a compare cannot see an unacknowledged user. */
  readonly #required = new Map<string, number>();
  /** Transactions that the store has not acknowledged yet. */
  readonly #pending = new Set<Changes>();
  #guard: Guard = () => {};
  /** Others write to the store, and the watch tells of it. */
  #isFollowing = false;
  /** Set while the records move to another store. */
  #moving: Promise<void> | undefined;
  readonly #turns = new Turns();
  readonly #writeListeners = new Set<() => void>();
  readonly #views = new Map<number, WeakRef<Records>>();

  private constructor(store: Store, space: KeySpace) {
    this.#store = store;
    this.contents = new Contents(space);
    this.#collections = this.contents.collections;
  }

  /** Reads every record once. `member`: the number of this host in its cluster. Throws StoreError Corrupt naming the first
   *  unreadable one. */
  static async open(store: Store, member?: number): Promise<Records> {
    const records = new Records(store, new KeySpace(member));
    await readAll(store, records.contents);
    return records;
  }

  /** What another member has, with what all share, as its own: to read, as of now. */
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

  /** What other members of the cluster have. */
  get others(): OtherMembers {
    return this.contents.others;
  }

  /** Whether any member of the cluster has a container of this name. */
  isContainerName(name: string): boolean {
    return this.containers.has(name) || this.others.get('containers', name) !== undefined;
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
  get networkAcls(): Collection<'networkAcls'> {
    return this.#collections.networkAcls;
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
  get members(): Collection<'members'> {
    return this.#collections.members;
  }
  get cluster(): Collection<'cluster'> {
    return this.#collections.cluster;
  }
  get poolDefinitions(): Collection<'poolDefinitions'> {
    return this.#collections.poolDefinitions;
  }
  get networkDefinitions(): Collection<'networkDefinitions'> {
    return this.#collections.networkDefinitions;
  }
  get memberGroups(): Collection<'memberGroups'> {
    return this.#collections.memberGroups;
  }
  get clusterKeys(): Collection<'clusterKeys'> {
    return this.#collections.clusterKeys;
  }
  get joinTokens(): Collection<'joinTokens'> {
    return this.#collections.joinTokens;
  }
  get memberConfig(): Collection<'memberConfig'> {
    return this.#collections.memberConfig;
  }

  get warnings(): Collection<'warnings'> {
    return this.#collections.warnings;
  }

  /** From now on no transaction passes that the guard refuses. */
  guardWith(guard: Guard): void {
    this.#guard = guard;
  }

  /** Throws what the guard would throw for such a transaction; changes nothing. */
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
    // Those of this member wait here, and do not fail on each other.
    await this.#turns.run(changes.turns, () => this.#sendInTurn(build));
  }

  /** Decided again whenever another member was first. */
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
    this.#isFollowing = true;
    try {
      await follow(this.#store, this.contents, signal, onTrouble);
    } finally {
      this.#isFollowing = false;
    }
  }

  /** Calls it for each record that all members share and another one has changed. Returns how to end that. */
  onShared(listener: SharedListener): () => void {
    return this.contents.onShared(listener);
  }

  /** Calls it after each transaction of this daemon. Returns how to end that. */
  onWrite(listener: () => void): () => void {
    this.#writeListeners.add(listener);
    return () => this.#writeListeners.delete(listener);
  }

  /** Records of a member that is gone; this one hears of it by following. */
  async deleteKeys(keys: readonly string[]): Promise<void> {
    await this.#store.txn(
      [],
      keys.map((del) => ({ del })),
    );
  }

  /** Records by their keys, also of other members; this one hears of it by following. False: a compare did not hold. */
  async writeKeys(compares: readonly Compare[], ops: readonly Op[]): Promise<boolean> {
    return (await this.#store.txn(compares, ops)).ok;
  }

  /** No transaction is under way while `work` moves the records to the store that it returns; from then on they are there. When
   *  it throws, everything stays as it is. */
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

  async #write(changes: Changes): Promise<void> {
    const { ok, rev } = await this.#store.txn(changes.compares, changes.ops);
    if (!ok) {
      // Without it the view is older, and the next attempt fails on that again.
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

  /** Another member wrote first: decided again on what it wrote. */
  async #catchUp(): Promise<void> {
    const rev = await this.#store.lastWrite();
    await this.contents.reached(rev, AbortSignal.timeout(catchUpMs));
  }

  /** Without other writers or followers of the store a late answer is not older than the view. */
  async #refresh(kind: Kind, name: string): Promise<void> {
    const key = this.contents.space.keyOf(kind, name);
    const record = await this.#store.get(key);
    if (record === undefined) {
      if (this.#collections[kind].has(name)) this.#collections[kind].accept(name, undefined);
    } else this.contents.take(record);
  }
}
