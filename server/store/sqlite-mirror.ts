// A copy of all records on the main thread while they are few, so that reads need no worker; given up when they outgrow it.
import { compareKeys } from './keys.ts';
import { eventKey } from './watch-hub.ts';
import type { RangeOptions, StoreEvent, StoreRecord } from './store.ts';

/** What a record costs beside its key and value, roughly. */
const recordOverheadBytes = 200;

export class SqliteMirror {
  readonly #maxBytes: number;
  readonly #records = new Map<string, StoreRecord>();
  /** In bytewise order. */
  #keys: string[] = [];
  #bytes = 0;
  #isComplete = true;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether reads may be answered from here; once false it stays so. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  get(key: string): StoreRecord | undefined {
    return this.#records.get(key);
  }

  range(prefix: string, { after, limit = Infinity }: RangeOptions): StoreRecord[] {
    let at = this.#place(prefix);
    if (after !== undefined) {
      const behind = this.#place(after);
      at = Math.max(at, this.#keys[behind] === after ? behind + 1 : behind);
    }
    const found: StoreRecord[] = [];
    for (; found.length < limit; at++) {
      const key = this.#keys[at];
      const record = key?.startsWith(prefix) ? this.#records.get(key) : undefined;
      if (record === undefined) break;
      found.push(record);
    }
    return found;
  }

  apply(events: readonly StoreEvent[]): void {
    for (const event of events) {
      this.#remove(eventKey(event), event.type === 'put');
      if (event.type === 'put') this.#add(event.record);
    }
    if (this.#bytes > this.#maxBytes) this.giveUp();
  }

  load(records: readonly StoreRecord[]): void {
    for (const record of records) this.#add(record);
    if (this.#bytes > this.#maxBytes) this.giveUp();
  }

  giveUp(): void {
    this.#isComplete = false;
    this.#records.clear();
    this.#keys = [];
  }

  #add(record: StoreRecord): void {
    const at = this.#place(record.key);
    if (this.#keys[at] !== record.key) this.#keys.splice(at, 0, record.key);
    this.#records.set(record.key, record);
    this.#bytes += bytesOf(record);
  }

  #remove(key: string, keepPlace: boolean): void {
    const old = this.#records.get(key);
    if (old === undefined) return;
    this.#bytes -= bytesOf(old);
    this.#records.delete(key);
    if (!keepPlace) this.#keys.splice(this.#place(key), 1);
  }

  /** Index of the first key that is not before `key`. */
  #place(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys(this.#keys[middle] ?? '', key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function bytesOf({ key, value }: StoreRecord): number {
  return recordOverheadBytes + 2 * key.length + value.byteLength;
}
