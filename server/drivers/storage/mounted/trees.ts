// Trees that are mounted at their paths, and named in a store: logical volumes with file systems, or datasets.
import { join, relative } from 'node:path';
import { type Log, logFailure } from '../../../lib/log.ts';
import { withCleanup } from '../../../lib/revert.ts';
import { driverErrors } from '../../driver-error.ts';
import type { PoolSpec } from '../driver.ts';
import {
  isInside,
  poolSource,
  recordsFolder,
  replacedFolder,
  replacedVolume,
  temporaryFolder,
  volumeFolder,
} from '../layout.ts';
import { isMounted, unmountDevice } from './mounts.ts';
import { storeNames } from './names.ts';
import type { StoredTree, TreeStore } from './store.ts';

export interface MountedDeps {
  /** Pools are mounted here; its parent is the state directory of the daemon. */
  readonly root: string;
  readonly log: Log;
}

/** A volume: the path of its files, and its id in the store. */
export interface Place {
  readonly pool: PoolSpec;
  readonly path: string;
  readonly id: string;
}

/** Volumes of containers and custom volumes stay mounted; all others are mounted while they are used. */
export const staysMounted = (id: string): boolean =>
  [volumeFolder('container'), volumeFolder('custom')].some((folder) => id.startsWith(`${folder}/`));
const isTemporary = (id: string): boolean => id.startsWith(`${temporaryFolder}/`);
/** All others are mounted read-only. */
export const isWritten = (id: string): boolean => staysMounted(id) || isTemporary(id) || id === recordsFolder;

export abstract class MountedTrees<Entry extends StoredTree = StoredTree> {
  readonly #store: TreeStore<Entry>;
  readonly #deps: MountedDeps;
  /** Pools by the directories that they are mounted in. */
  readonly #pools = new Map<string, PoolSpec>();
  /** Mounted paths in use: the number of users, and a promise of the mount. */
  readonly #readers = new Map<string, { count: number; readonly ready: Promise<void> }>();
  /** Unmounts of paths whose last reader has gone. */
  readonly #leaving = new Map<string, Promise<void>>();

  constructor(store: TreeStore<Entry>, deps: MountedDeps) {
    this.#store = store;
    this.#deps = deps;
  }

  abstract mount(place: Place): Promise<void>;

  async unmount(place: Place, how: { readonly goes?: boolean } = {}): Promise<void> {
    await unmountDevice(place.path, how);
  }

  /** Completes what a crash left half done to a volume, before it is mounted. */
  protected async mend(_place: Place, _entry: Entry): Promise<void> {}

  /** The directory of the pool. Remembers the pool for the paths in it. */
  root(pool: PoolSpec): string {
    const root = poolSource(this.#deps.root, join(this.#deps.root, '..'), { ...pool, config: {} });
    this.#pools.set(root, pool);
    return root;
  }

  place(path: string): Place {
    const found = this.#placeOf(path);
    if (found === undefined) throw driverErrors.failed(`${path} is in no pool`);
    return found;
  }

  #placeOf(path: string): Place | undefined {
    for (const [root, pool] of this.#pools) if (isInside(root, path)) return { pool, path, id: relative(root, path) };
    return undefined;
  }

  async withFiles<T>(path: string, use: () => Promise<T>): Promise<T> {
    const place = this.#placeOf(path);
    if (place === undefined || staysMounted(place.id)) return use();
    // What is being unmounted still looks mounted.
    for (let left = this.#leaving.get(path); left !== undefined; left = this.#leaving.get(path))
      await left.catch(() => {});
    const reader = this.#readers.get(path) ?? { count: 0, ready: this.mountUnlessMounted(place) };
    this.#readers.set(path, reader);
    reader.count += 1;
    const leave = async (): Promise<void> => {
      reader.count -= 1;
      if (reader.count > 0) return;
      this.#readers.delete(path);
      const left = this.unmount(place).finally(() => this.#leaving.delete(path));
      this.#leaving.set(path, left);
      await left;
    };
    return withCleanup(() => reader.ready.then(use), leave, this.failed(`Unmounting ${path}`));
  }

  /** For what is done after a failure, and fails too. */
  protected failed(what: string): (error: unknown) => void {
    return logFailure(this.#deps.log, what);
  }

  protected async mountUnlessMounted(place: Place): Promise<void> {
    if (!(await isMounted(place.path))) await this.mount(place);
  }

  async remove(path: string): Promise<void> {
    const place = this.place(path);
    await this.unmount(place, { goes: true });
    await this.#store.remove(place.pool, place.id);
  }

  async move(from: string, to: string): Promise<void> {
    const [source, target] = [this.place(from), this.place(to)];
    // Deleted trees are moved there first.
    await this.unmount(source, { goes: isTemporary(target.id) });
    await this.#store.rename(source.pool, source.id, target.id);
    if (!staysMounted(target.id)) return;
    await this.mount(target).catch(async (error: unknown) => {
      const back = this.#store.rename(source.pool, target.id, source.id);
      await back.catch(this.failed(`Moving ${target.id} back to ${source.id}`));
      throw error;
    });
  }

  /** Mounts all volumes. Reports those that fail, and continues with the others. */
  async mountAll(pool: PoolSpec): Promise<void> {
    const root = this.root(pool);
    for (const entry of await this.#store.list(pool)) {
      const { id } = entry;
      const place = { pool, id, path: join(root, id) };
      if (!staysMounted(id)) continue;
      try {
        await this.mend(place, entry);
        await this.mountUnlessMounted(place);
      } catch (error) {
        this.#deps.log.warn(`Volume ${id} of pool ${pool.name} cannot be mounted`, { error: String(error) });
      }
    }
  }

  /** After a crash: removes half-made and half-deleted trees, and puts back what a restore moved away. */
  async recover(pool: PoolSpec, busy: ReadonlySet<string>): Promise<void> {
    const root = this.root(pool);
    const volumes = await this.#store.list(pool);
    const taken = new Set(volumes.map(({ id }) => id));
    for (const { id } of volumes) {
      const [folder, entry = ''] = id.split('/');
      const path = join(root, id);
      if (busy.has(path) || (folder !== temporaryFolder && folder !== replacedFolder)) continue;
      const volume = folder === replacedFolder ? replacedVolume(entry) : undefined;
      const place = volume === undefined ? undefined : `${volumeFolder(volume.type)}/${volume.name}`;
      if (place === undefined || taken.has(place)) await this.remove(path);
      else await this.move(path, join(root, place));
    }
  }

  async unmountAll(pool: PoolSpec): Promise<void> {
    const root = this.root(pool);
    for (const { id } of await this.#store.list(pool)) await this.unmount({ pool, id, path: join(root, id) });
  }

  /** The part that differs from trees/driver.ts. */
  protected mounted() {
    return {
      root: (pool: PoolSpec) => this.root(pool),
      isDurable: true,
      names: storeNames(
        this.#store,
        (path) => this.place(path),
        (from, to) => this.move(from, to),
      ),
      withFiles: <T>(path: string, use: () => Promise<T>) => this.withFiles(path, use),
      removeTree: (path: string) => this.remove(path),
    };
  }
}
