// Opens each backend for the conformance suite and the model test, in a temporary directory of its own.
import { openMemoryStore } from '../../../server/store/memory.ts';
import { openSqliteStore } from '../../../server/store/sqlite.ts';
import type { StoreUnderTest } from '../../conformance/store.ts';
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
