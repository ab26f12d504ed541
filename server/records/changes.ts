// Builds one transaction: what it compares, writes and requires.
import { isTrue } from '../api/text/value-checks.ts';
import type { Compare, Op, Rev } from '../store/store.ts';
import { encodeDocument } from './codec.ts';
import type { Collection, Collections } from './collection.ts';
import type { Contents } from './contents.ts';
import type { Documents, Kind } from './documents.ts';
import { KeySpace, nameKey } from './key-space.ts';
import type { OtherEntry } from './other-members.ts';
import { volumeIdOf } from './record-names.ts';

export type Put = { [K in Kind]: { readonly kind: K; readonly name: string; readonly document: Documents[K] } }[Kind];

/** Throws to refuse a transaction. `others` are on their way to the store: they may succeed, and the view lacks them. */
export type Guard = (changes: Changes, others: readonly Changes[]) => void;

/** The changes of one transaction. Each is bound to the version of the record in the view when it was added. */
export class Changes {
  readonly #contents: Contents;
  readonly #collections: Collections;
  readonly puts: Put[] = [];
  /** Records of other members that this one takes over. */
  readonly brought: { readonly kind: Kind; readonly name: string; readonly member: number }[] = [];
  readonly deletions: { readonly kind: Kind; readonly name: string }[] = [];
  readonly compares: Compare[] = [];
  readonly ops: Op[] = [];
  readonly accepts: ((rev: Rev) => void)[] = [];
  readonly touched: { readonly kind: Kind; readonly name: string }[] = [];
  /** Keys that must still exist when the transaction is committed. */
  readonly required: string[] = [];
  /** Keys that no pending transaction may require. */
  readonly claimed: string[] = [];
  /** Keys that serialize transactions of all members. */
  readonly turns: string[] = [];

  constructor(contents: Contents) {
    this.#contents = contents;
    this.#collections = contents.collections;
  }

  put<K extends Kind>(kind: K, name: string, document: Documents[K]): void {
    this.#bind(kind, name);
    this.#takeName(kind, name);
    this.ops.push({ put: this.keyOf(kind, name), value: encodeDocument<K>(document) });
    this.puts.push({ kind, name, document } as unknown as Put);
    const collection = this.#collections[kind] as unknown as Collection<K>;
    this.accepts.push((rev) => {
      const createRev = collection.get(name)?.createRev ?? rev;
      if (this.#isNews(kind, name, rev)) collection.accept(name, { name, document, createRev, modRev: rev });
    });
  }

  /** The watch may be ahead of the acknowledgement, with later changes of others; a deletion leaves no trace of that. */
  #isNews(kind: Kind, name: string, rev: Rev): boolean {
    return rev > this.#contents.rev && !this.#collections[kind].isNewerThan(name, rev);
  }

  /** Atomically moves a record from another member to this one, renamed. Fails if it is no longer as in `found`. */
  takeOver<K extends Kind>(kind: K, found: OtherEntry<Documents[K]>, name: string, document: Documents[K]): void {
    const key = new KeySpace(found.member).keyOf(kind, found.name);
    this.compares.push({ key, modRev: found.modRev });
    this.ops.push({ del: key });
    this.#moveName(kind, found.name, name);
    this.put(kind, name, document);
    this.brought.push({ kind, name: found.name, member: found.member });
    const { others } = this.#contents;
    this.accepts.push((rev) => others.delete(kind, found.member, found.name, rev));
  }

  /** Writes the record of another member. Fails if it is no longer as in `found`. */
  putOther<K extends Kind>(kind: K, found: OtherEntry<Documents[K]>, document: Documents[K]): void {
    const key = new KeySpace(found.member).keyOf(kind, found.name);
    const value = encodeDocument<K>(document);
    this.compares.push({ key, modRev: found.modRev });
    this.ops.push({ put: key, value });
    const contents = this.#contents;
    this.accepts.push((rev) => {
      if (rev > contents.rev) contents.others.put(kind, found.member, found.name, value, rev);
    });
  }

  /** Deletes the record of another member. Fails if it is no longer as in `found`. */
  deleteOther<K extends Kind>(kind: K, found: OtherEntry<Documents[K]>): void {
    const key = new KeySpace(found.member).keyOf(kind, found.name);
    this.compares.push({ key, modRev: found.modRev });
    this.ops.push({ del: key });
    const { others } = this.#contents;
    this.accepts.push((rev) => others.delete(kind, found.member, found.name, rev));
  }

  delete(kind: Kind, name: string): void {
    this.#bind(kind, name);
    this.#claimUses(kind, name);
    this.#forgetUses(kind, name);
    this.#freeName(kind, name);
    this.ops.push({ del: this.keyOf(kind, name) });
    this.deletions.push({ kind, name });
    this.claimed.push(this.keyOf(kind, name));
    const collection = this.#collections[kind];
    this.accepts.push((rev) => {
      if (this.#isNews(kind, name, rev)) collection.accept(name, undefined);
    });
  }

  /** The transaction succeeds only if this record is unchanged. */
  require(kind: Kind, name: string): void {
    this.#bind(kind, name);
    this.required.push(this.keyOf(kind, name));
    const used = this.#contents.space.useKeyOf(kind, name);
    if (used !== undefined && !this.ops.some((op) => 'put' in op && op.put === used))
      this.ops.push({ put: used, value: noValue });
  }

  /** The transaction succeeds only if the record of another member is as in `found`. */
  requireOther<K extends Kind>(kind: K, found: OtherEntry<Documents[K]>): void {
    this.compares.push({ key: new KeySpace(found.member).keyOf(kind, found.name), modRev: found.modRev });
  }

  /** Like `require`, and fails while another pending transaction requires the record: for the first step of a deletion. */
  claim(kind: Kind, name: string): void {
    this.#bind(kind, name);
    this.#claimUses(kind, name);
    this.claimed.push(this.keyOf(kind, name));
  }

  /** In a cluster the transaction succeeds only if no member has used the shared record since this view: for decisions that depend on all
   *  its users. */
  takeTurn(kind: Kind, name: string): void {
    const key = this.#contents.space.useKeyOf(kind, name);
    if (key === undefined || this.turns.includes(key)) return;
    this.turns.push(key);
    this.#claimUses(kind, name);
    if (!this.ops.some((op) => ('put' in op ? op.put : op.del) === key)) this.ops.push({ put: key, value: noValue });
    this.accepts.push((rev) => this.#contents.noteUse(key, rev));
  }

  written(): readonly { readonly kind: Kind; readonly name: string }[] {
    const keys = new Set([...this.ops.map((op) => ('put' in op ? op.put : op.del)), ...this.claimed]);
    return this.touched.filter(({ kind, name }) => keys.has(this.keyOf(kind, name)));
  }

  keyOf(kind: Kind, name: string): string {
    return this.#contents.space.keyOf(kind, name);
  }

  /** The key that reserves the name of a container, or of a volume in a pool that all members share. */
  #nameKeyOf(kind: Kind, name: string): string | undefined {
    const { space } = this.#contents;
    if (kind !== 'volumes' || space.member === undefined) return space.nameKeyOf(kind, name);
    const pool = this.#collections.pools.get(volumeIdOf(name).pool);
    return isTrue(pool?.document.config['source.shared']) ? nameKey(kind, name) : undefined;
  }

  /** Reserves the name of a new record of a kind whose names are unique in the cluster. */
  #takeName(kind: Kind, name: string): void {
    const key = this.#nameKeyOf(kind, name);
    if (key === undefined || this.#collections[kind].has(name)) return;
    if (this.ops.some((op) => 'put' in op && op.put === key)) return;
    this.compares.push({ key, modRev: 0 });
    this.ops.push({ put: key, value: encodeMember(this.#contents.space.member) });
  }

  /** `put` reserves a new name; this frees the old one. */
  #moveName(kind: Kind, from: string, to: string): void {
    const key = this.#nameKeyOf(kind, from);
    if (key === undefined) return;
    this.ops.push(from === to ? { put: key, value: encodeMember(this.#contents.space.member) } : { del: key });
  }

  #freeName(kind: Kind, name: string): void {
    const key = this.#nameKeyOf(kind, name);
    if (key !== undefined && this.#collections[kind].has(name)) this.ops.push({ del: key });
  }

  /** Fails if any member has used it since this view. */
  #claimUses(kind: Kind, name: string): void {
    const key = this.#contents.space.useKeyOf(kind, name);
    if (key === undefined || this.compares.some((compare) => compare.key === key)) return;
    this.compares.push({ key, modRev: this.#contents.useRev(key) });
  }

  #forgetUses(kind: Kind, name: string): void {
    const key = this.#contents.space.useKeyOf(kind, name);
    if (key === undefined || this.#contents.useRev(key) === 0) return;
    if (!this.ops.some((op) => ('put' in op ? op.put : op.del) === key)) this.ops.push({ del: key });
  }

  #bind(kind: Kind, name: string): void {
    const key = this.keyOf(kind, name);
    if (this.compares.some((compare) => compare.key === key)) return;
    this.compares.push({ key, modRev: this.#collections[kind].get(name)?.modRev ?? 0 });
    this.touched.push({ kind, name });
  }
}

const noValue = new Uint8Array();
const encodeMember = (member: number | undefined): Uint8Array => new TextEncoder().encode(String(member));
