// One transaction as it is built: what it compares, writes and needs to stay.
import type { Compare, Op, Rev } from '../store/store.ts';
import { encodeDocument, recordKey } from './codec.ts';
import type { Collection, Collections } from './collection.ts';
import type { Documents, Kind } from './documents.ts';

/** A record as a transaction puts it. */
export type Put = { [K in Kind]: { readonly kind: K; readonly name: string; readonly document: Documents[K] } }[Kind];

/** Throws to refuse a transaction. `others` are on their way to the store: they may take place, and the view lacks them. */
export type Guard = (changes: Changes, others: readonly Changes[]) => void;

/** The changes of one transaction. Each is bound to the version of the record in the view when it was added. */
export class Changes {
  readonly #collections: Collections;
  readonly puts: Put[] = [];
  readonly deletions: { readonly kind: Kind; readonly name: string }[] = [];
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
    this.puts.push({ kind, name, document } as unknown as Put);
    const collection = this.#collections[kind] as unknown as Collection<K>;
    this.accepts.push((rev) => {
      if (!collection.isNewerThan(name, rev)) collection.accept(name, { name, document, modRev: rev });
    });
  }

  delete(kind: Kind, name: string): void {
    this.#bind(kind, name);
    this.ops.push({ del: recordKey(kind, name) });
    this.deletions.push({ kind, name });
    this.claimed.push(recordKey(kind, name));
    const collection = this.#collections[kind];
    this.accepts.push((rev) => {
      if (!collection.isNewerThan(name, rev)) collection.accept(name, undefined);
    });
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
