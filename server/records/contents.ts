// The contents of the store in memory: the daemon's records, those of other members, and the revision reached.
import { isDeepStrictEqual } from 'node:util';
import type { Rev, StoreEvent, StoreRecord } from '../store/store.ts';
import { decodeDocument } from './codec.ts';
import { Collection, type Collections, type Entry } from './collection.ts';
import { kindNames, type Documents, type Kind } from './documents.ts';
import { KeySpace, meaningOf, memberKinds } from './key-space.ts';
import { OtherMembers } from './other-members.ts';

/** Keys outside the records: presence and container status. `value`: undefined if deleted. */
export type SignalListener = (key: string, value: Uint8Array | undefined) => void;
/** Another member changed a record that all members share. `before`: undefined if it is new. */
export type SharedListener = (kind: Kind, name: string, before: Documents[Kind] | undefined) => void;

export class Contents {
  readonly collections: Collections;
  readonly others = new OtherMembers();
  space: KeySpace;
  /** Revisions of the keys that record the use of a shared record. */
  readonly #uses = new Map<string, Rev>();
  readonly #signals = new Map<string, StoreRecord>();
  readonly #signalListeners = new Set<SignalListener>();
  readonly #sharedListeners = new Set<SharedListener>();
  /** Memory holds everything up to this revision of the store. */
  #rev: Rev = 0;
  readonly #waiting = new Set<{ readonly rev: Rev; readonly wake: () => void }>();

  constructor(space: KeySpace) {
    this.space = space;
    this.collections = Object.fromEntries(
      kindNames.map((kind) => [kind, new Collection(kind)]),
    ) as unknown as Collections;
  }

  get rev(): Rev {
    return this.#rev;
  }

  set rev(rev: Rev) {
    this.#rev = rev;
    for (const waiter of this.#waiting)
      if (waiter.rev <= rev) {
        this.#waiting.delete(waiter);
        waiter.wake();
      }
  }

  /** Resolves true when memory has reached this revision, false if the signal aborts first. */
  reached(rev: Rev, signal: AbortSignal): Promise<boolean> {
    if (this.#rev >= rev) return Promise.resolve(true);
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const gone = (): void => {
        this.#waiting.delete(waiter);
        resolve(false);
      };
      const waiter = {
        rev,
        wake: (): void => {
          signal.removeEventListener('abort', gone);
          resolve(true);
        },
      };
      this.#waiting.add(waiter);
      signal.addEventListener('abort', gone, { once: true });
    });
  }

  /** Revision of the last use of a shared record; 0: never. */
  useRev(key: string): Rev {
    return this.#uses.get(key) ?? 0;
  }

  /** Notes an own transaction before the watch delivers it. */
  noteUse(key: string, rev: Rev): void {
    if (this.useRev(key) < rev) this.#uses.set(key, rev);
  }

  signals(prefix: string): readonly StoreRecord[] {
    return [...this.#signals.values()].filter(({ key }) => key.startsWith(prefix));
  }

  signal(key: string): StoreRecord | undefined {
    return this.#signals.get(key);
  }

  onSignal(listener: SignalListener): () => void {
    this.#signalListeners.add(listener);
    return () => this.#signalListeners.delete(listener);
  }

  onShared(listener: SharedListener): () => void {
    this.#sharedListeners.add(listener);
    return () => this.#sharedListeners.delete(listener);
  }

  /** Throws StoreError Corrupt for a record that cannot be decoded. */
  take(record: StoreRecord): void {
    const meaning = meaningOf(record.key);
    if (meaning === undefined) return;
    if (meaning.is === 'use') this.#uses.set(record.key, record.modRev);
    else if (meaning.is === 'signal') this.#signal(record.key, record);
    else if (this.#isOwn(meaning)) this.#see(meaning.kind, meaning.name, record);
    else if (meaning.member !== undefined)
      this.others.put(meaning.kind, meaning.member, meaning.name, record.value, record.modRev);
  }

  drop(key: string, rev: Rev): void {
    const meaning = meaningOf(key);
    if (meaning === undefined) return;
    if (meaning.is === 'use') this.#uses.delete(key);
    else if (meaning.is === 'signal') this.#signal(key, undefined);
    else if (this.#isOwn(meaning)) this.#seeDeleted(meaning.kind, meaning.name, rev);
    else if (meaning.member !== undefined) this.others.delete(meaning.kind, meaning.member, meaning.name, rev);
  }

  apply(event: StoreEvent): void {
    if (event.type === 'put') this.take(event.record);
    else this.drop(event.key, event.modRev);
  }

  /** Fills `contents` with that member's view, except for the records of its peers. */
  fill(contents: Contents, member: number): void {
    const put = <K extends Kind>(kind: K): void => {
      const entries = memberKinds.has(kind) ? this.others.of(kind, member) : this.collections[kind].list();
      for (const entry of entries) {
        const { name, document, modRev } = entry as Entry<Documents[K]>;
        (contents.collections[kind] as unknown as Collection<K>).accept(name, { name, document, modRev });
      }
    };
    for (const kind of kindNames) put(kind);
    contents.rev = this.rev;
  }

  /** Removes every key not among these, which are all that existed at that revision. */
  keepOnly(present: ReadonlySet<string>, rev: Rev): void {
    for (const kind of kindNames)
      for (const { name } of this.collections[kind].list())
        if (!present.has(this.space.keyOf(kind, name))) this.#seeDeleted(kind, name, rev);
    for (const kind of kindNames)
      for (const { member, name } of this.others.list(kind))
        if (!present.has(new KeySpace(member).keyOf(kind, name))) this.others.delete(kind, member, name, rev);
    for (const key of this.#signals.keys()) if (!present.has(key)) this.#signal(key, undefined);
    for (const key of this.#uses.keys()) if (!present.has(key)) this.#uses.delete(key);
  }

  /** Switches to another store. */
  begin(space: KeySpace): void {
    this.space = space;
    this.#rev = 0;
    this.#uses.clear();
    this.others.clear();
    for (const key of this.#signals.keys()) this.#signal(key, undefined);
    for (const kind of kindNames)
      for (const { name } of this.collections[kind].list()) this.collections[kind].accept(name, undefined);
  }

  /** A record of a single host is no member's record: a key without a number must not be read as an own one. */
  #isOwn({ kind, member }: { readonly kind: Kind; readonly member?: number }): boolean {
    if (!memberKinds.has(kind)) return member === undefined;
    return member === this.space.member;
  }

  #see<K extends Kind>(kind: K, name: string, { value, createRev, modRev }: StoreRecord): void {
    const collection = this.collections[kind] as unknown as Collection<K>;
    const before = collection.get(name);
    if ((before?.modRev ?? 0) >= modRev) return;
    const document = decodeDocument(kind, name, value);
    collection.accept(name, { name, document, createRev, modRev });
    // Records are also rewritten as they are, with another key of the cluster.
    if (!isDeepStrictEqual(before?.document, document)) this.#notifyShared(kind, name, before?.document);
  }

  #seeDeleted(kind: Kind, name: string, rev: Rev): void {
    const collection = this.collections[kind];
    const before = collection.get(name)?.document;
    if (before === undefined || collection.isNewerThan(name, rev)) return;
    collection.accept(name, undefined);
    this.#notifyShared(kind, name, before);
  }

  #notifyShared(kind: Kind, name: string, before: Documents[Kind] | undefined): void {
    if (!memberKinds.has(kind)) for (const listener of this.#sharedListeners) listener(kind, name, before);
  }

  #signal(key: string, record: StoreRecord | undefined): void {
    if (record === undefined) this.#signals.delete(key);
    else this.#signals.set(key, record);
    for (const listener of this.#signalListeners) listener(key, record?.value);
  }
}
