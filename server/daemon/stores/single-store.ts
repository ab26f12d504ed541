// The store of a host that leaves its cluster: a new file in its state directory, used once the membership has ended.
import { rm } from 'node:fs/promises';
import type { OpenedSingleStore, SingleStores } from '../../services/cluster/deps.ts';
import { openSqliteStore } from '../../store/sqlite/sqlite.ts';
import type { CurrentStore } from './current-store.ts';
import { noHistory, sqlitePath } from './open-store.ts';
import { notePath } from './store-note.ts';

export class SingleStoreFiles implements SingleStores {
  readonly #databaseDir: string;
  readonly #current: CurrentStore;

  constructor(databaseDir: string, current: CurrentStore) {
    this.#databaseDir = databaseDir;
    this.#current = current;
  }

  /** An existing file is from before the host joined, or from an attempt cut off by a crash: a member does not read it. */
  async begin(): Promise<OpenedSingleStore> {
    const path = sqlitePath(this.#databaseDir);
    for (const end of ['', '-wal', '-shm', '-journal']) await rm(`${path}${end}`, { force: true });
    await rm(notePath(this.#databaseDir), { force: true });
    const store = await openSqliteStore({ path, history: noHistory });
    return {
      store,
      use: () => this.#current.replaceEnded({ store, follow: () => {}, close: () => store.close() }),
      abandon: () => store.close(),
    };
  }
}
