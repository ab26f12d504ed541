// The store that each test of all stores uses.
import { afterEach, beforeEach } from 'vitest';
import { type Store } from '../../server/store/store.ts';
import type { ScriptedClock } from '../support/store/clock.ts';

export interface StoreUnderTest {
  readonly store: Store;
  /** Drives the leases of this store. */
  readonly clock: ScriptedClock;
  /** Closes the store and opens the same data again; absent when the backend keeps nothing. */
  readonly reopen?: () => Promise<Store>;
  readonly dispose: () => Promise<void>;
}

export interface StoreWorld {
  readonly subject: StoreUnderTest;
  /** A test that opens it again replaces it. */
  store: Store;
  /** Its revision. */
  write(this: void, ...ops: Parameters<Store['txn']>[1]): Promise<number>;
  keysOf(this: void, prefix: string, options?: Parameters<Store['range']>[1]): Promise<string[]>;
}

/** Each test of the enclosing `describe` has a fresh store. */
export function storeWorld(open: () => Promise<StoreUnderTest>): StoreWorld {
  let subject: StoreUnderTest;
  let store: Store;
  beforeEach(async () => {
    subject = await open();
    store = subject.store;
  });
  afterEach(async () => {
    await subject.dispose();
  });
  return {
    get subject() {
      return subject;
    },
    get store() {
      return store;
    },
    set store(opened) {
      store = opened;
    },
    write: async (...ops) => (await store.txn([], ops)).rev,
    keysOf: async (prefix, options = {}) => (await store.range(prefix, options)).records.map(({ key }) => key),
  };
}
