// Opens each backend for the conformance suite and the model test, in a temporary directory of its own.
import { randomUUID } from 'node:crypto';
import { openEtcdStore } from '../../../server/store/etcd/etcd.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import { openSqliteStore } from '../../../server/store/sqlite/sqlite.ts';
import type { StoreUnderTest } from '../../conformance/store-world.ts';
import { scriptedClock } from './clock.ts';
import { tempDir } from './watching.ts';

export async function openMemory(): Promise<StoreUnderTest> {
  const clock = scriptedClock();
  const store = openMemoryStore({ clock });
  return { store, clock, dispose: () => store.close() };
}

export async function openSqlite(): Promise<StoreUnderTest> {
  const clock = scriptedClock();
  const dir = tempDir();
  let store = await openSqliteStore({ path: dir.file, clock });
  const reopen = async (): Promise<typeof store> => {
    await store.close();
    store = await openSqliteStore({ path: dir.file, clock });
    return store;
  };
  const dispose = async (): Promise<void> => {
    await store.close();
    dir.remove();
  };
  return { store, clock, reopen, dispose };
}

/** A generous limit, since a busy machine writes slowly. */
const totalMs = 60_000;

/**
 * A store of its own in an etcd that several tests share, one after the other. With `writer`, as one of many that write to it: its
 * opening and closing move the revision, so cases that open it again do not apply.
 */
export async function openEtcd(
  { endpoints }: { readonly endpoints: readonly string[] },
  writer?: string,
): Promise<StoreUnderTest> {
  const clock = scriptedClock();
  const name = randomUUID();
  const own = writer === undefined ? {} : { writer };
  let store = await openEtcdStore({ endpoints, name, clock, totalMs, ...own });
  const reopen = async (): Promise<typeof store> => {
    await store.close();
    store = await openEtcdStore({ endpoints, name, clock, totalMs });
    return store;
  };
  const dispose = () => store.close();
  return writer === undefined ? { store, clock, reopen, dispose } : { store, clock, dispose };
}
