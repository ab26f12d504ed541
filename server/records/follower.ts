// Keeps the view of the records as the store has it, for a store that others can write to as well: follows a watch, reads again when
// history is gone.
import { pause } from '../lib/shared/deadline.ts';
import { type Rev, type Store, StoreError, type StoreEvent, type StoreRecord } from '../store/store.ts';
import { decodeDocument, recordKey } from './codec.ts';
import type { Collection, Collections } from './collection.ts';
import { kindNames, type Kind } from './documents.ts';

/** Before a watch that ended is opened again. */
const followAgainMs = 1_000;

export class Follower {
  readonly #store: Store;
  readonly #collections: Collections;
  /** The view shows at least this revision of the store. */
  #readAt: Rev;

  constructor(store: Store, collections: Collections, readAt: Rev) {
    this.#store = store;
    this.#collections = collections;
    this.#readAt = readAt;
  }

  /** Until the signal aborts or the store closes. Never throws: `onTrouble` gets what is in the way, and it is tried again. */
  async follow(signal: AbortSignal, onTrouble: (error: unknown) => void): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const { rev, events } of this.#store.watch('/', this.#readAt + 1, signal)) {
          for (const event of events) this.#takeOver(event);
          this.#readAt = rev;
        }
        return;
      } catch (error) {
        if (!(error instanceof StoreError && error.code === 'Compacted')) onTrouble(error);
        await this.#readAgain().catch(onTrouble);
        await pause(followAgainMs, signal).catch(() => {});
      }
    }
  }

  #takeOver(event: StoreEvent): void {
    const key = event.type === 'put' ? event.record.key : event.key;
    const kind = kindNames.find((each) => key.startsWith(recordKey(each, '')));
    if (kind === undefined) return;
    const name = key.slice(recordKey(kind, '').length);
    if (event.type === 'put') this.#see(kind, name, event.record);
    else this.#seeDeleted(kind, name, event.modRev);
  }

  #see<K extends Kind>(kind: K, name: string, { value, modRev }: StoreRecord): void {
    const collection = this.#collections[kind] as unknown as Collection<K>;
    if ((collection.get(name)?.modRev ?? 0) >= modRev) return;
    collection.accept(name, { name, document: decodeDocument(kind, name, value), modRev });
  }

  #seeDeleted(kind: Kind, name: string, rev: Rev): void {
    const collection = this.#collections[kind];
    if (collection.has(name) && !collection.isNewerThan(name, rev)) collection.accept(name, undefined);
  }

  async #readAgain(): Promise<void> {
    let readAt = Number.POSITIVE_INFINITY;
    for (const kind of kindNames) {
      const prefix = recordKey(kind, '');
      const { rev, records } = await this.#store.range(prefix);
      readAt = Math.min(readAt, rev);
      const present = new Set(records.map(({ key }) => key.slice(prefix.length)));
      for (const record of records) this.#see(kind, record.key.slice(prefix.length), record);
      for (const { name } of this.#collections[kind].list()) if (!present.has(name)) this.#seeDeleted(kind, name, rev);
    }
    this.#readAt = readAt;
  }
}
