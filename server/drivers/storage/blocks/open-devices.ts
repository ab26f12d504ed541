// Which block devices somebody works with: a store that can close devices closes one when it is not mounted, and no work with it is left.
import { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import { type Log, logFailure } from '../../../lib/log.ts';
import { withCleanup } from '../../../lib/revert.ts';
import { isMounted } from '../mounted/mounts.ts';
import type { Place } from '../mounted/trees.ts';
import type { BlockStore } from './store.ts';

export class OpenDevices {
  readonly #store: BlockStore;
  readonly #log: Log;
  readonly #users = new Map<string, number>();
  readonly #changing = new KeyedMutex();

  constructor(store: BlockStore, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Runs `use` with the path of the device, which is there meanwhile. */
  async within<T>(place: Place, use: (device: string) => Promise<T>): Promise<T> {
    const { pool, path, id } = place;
    this.#users.set(path, this.#usersOf(path) + 1);
    const leave = async (): Promise<void> => {
      const left = this.#usersOf(path) - 1;
      if (left > 0) this.#users.set(path, left);
      else this.#users.delete(path);
      await this.closeIdle(place);
    };
    return withCleanup(
      async () => use(await this.#changing.run(path, () => this.#store.open(pool, id))),
      leave,
      logFailure(this.#log, `Closing the device of ${id}`),
    );
  }

  async closeIdle({ pool, path, id }: Place): Promise<void> {
    await this.#changing.run(path, async () => {
      if (this.#store.close === undefined || (await isMounted(path)) || this.#usersOf(path) > 0) return;
      await this.#store.close(pool, id);
    });
  }

  #usersOf(path: string): number {
    return this.#users.get(path) ?? 0;
  }
}
