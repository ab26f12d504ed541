// Volumes as block devices with a file system on each: what such a driver adds to tree-driver.ts. The devices are a BlockStore's.
import { randomUUID } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseBytes } from '../../../api/text/byte-size.ts';
import type { Log } from '../../../lib/log.ts';
import { DriverError } from '../../driver-error.ts';
import { copyGuestTreeInto } from '../copy-tree.ts';
import type { PoolSpec, VolumeShape } from '../driver.ts';
import { isInside, poolSource, replacedFolder, replacedVolume, temporaryFolder, volumeFolder } from '../layout.ts';
import type { TreeKind } from '../tree-kind.ts';
import { commands, isFileSystem, smallest, type FileSystem } from './commands.ts';
import {
  fileSystemOn,
  isMounted,
  makeFileSystem,
  mountDevice,
  mountNew,
  remount,
  run,
  unmountDevice,
} from './mounts.ts';
import { blockNames } from './names.ts';
import { fitToDevice, type Mounting, resizeVolume } from './resize.ts';
import type { BlockStore } from './store.ts';

export interface BlockDeps {
  /** Pools are mounted here; its parent is the state directory of the daemon. */
  readonly root: string;
  readonly log: Log;
}

/** A volume: where its files are, and what the store calls it. */
export interface Place {
  readonly pool: PoolSpec;
  readonly path: string;
  readonly id: string;
}

const defaultBytes = 10_000_000_000;

export type BlockKind = Pick<
  TreeKind,
  | 'names'
  | 'withFiles'
  | 'useMountOptions'
  | 'shapeOf'
  | 'makeTree'
  | 'copyTree'
  | 'importTree'
  | 'removeTree'
  | 'atomic'
  | 'limitTree'
  | 'limitsIn'
  | 'isDurable'
> & { readonly root: (pool: PoolSpec) => string };

/** Where volumes are while nobody asks for them in particular. */
const isKeptMounted = (id: string): boolean =>
  [volumeFolder('container'), volumeFolder('custom')].some((folder) => id.startsWith(`${folder}/`));
const isTemporary = (id: string): boolean => id.startsWith(`${temporaryFolder}/`);

export class BlockTrees {
  readonly #store: BlockStore;
  readonly #deps: BlockDeps;
  /** Pools by the directories that they are mounted in. */
  readonly #pools = new Map<string, PoolSpec>();
  /** Mount options of volumes that have their own, by path. */
  readonly #options = new Map<string, string>();
  /** Paths that are mounted for somebody, how many that are, and when they are. */
  readonly #readers = new Map<string, { count: number; readonly ready: Promise<void> }>();

  constructor(store: BlockStore, deps: BlockDeps) {
    this.#store = store;
    this.#deps = deps;
  }

  /** The directory of the pool. Remembers the pool for the paths in it. */
  root(pool: PoolSpec): string {
    const root = poolSource(this.#deps.root, join(this.#deps.root, '..'), { ...pool, config: {} });
    this.#pools.set(root, pool);
    return root;
  }

  place(path: string): Place {
    const found = this.#placeOf(path);
    if (found === undefined) throw new DriverError('Failed', `${path} is in no pool`);
    return found;
  }

  #placeOf(path: string): Place | undefined {
    for (const [root, pool] of this.#pools) if (isInside(root, path)) return { pool, path, id: relative(root, path) };
    return undefined;
  }

  async mount(place: Place): Promise<void> {
    const device = await this.#store.open(place.pool, place.id);
    await mountDevice(device, place.path, await this.#form(place, device));
  }

  #optionsOf({ pool, path }: Place): string {
    return this.#options.get(path) ?? (pool.config['volume.block.mount_options'] || 'discard');
  }

  async useMountOptions(path: string, options = ''): Promise<void> {
    const place = this.place(path);
    const before = this.#optionsOf(place);
    if (options === '') this.#options.delete(path);
    else this.#options.set(path, options);
    const now = this.#optionsOf(place);
    if (now === before || !(await isMounted(path))) return;
    await remount(path, now).catch((error: unknown) => {
      this.#options.set(path, before);
      throw error;
    });
  }

  async #form(place: Place, device: string) {
    const { pool, id } = place;
    return {
      fileSystem: await fileSystemOn(device),
      options: this.#optionsOf(place),
      readOnly: !isKeptMounted(id) && !isTemporary(id),
      readsZeros: this.#store.readsZeros(pool),
    };
  }

  async withFiles<T>(path: string, use: () => Promise<T>): Promise<T> {
    const place = this.#placeOf(path);
    if (place === undefined || isKeptMounted(place.id)) return use();
    const reader = this.#readers.get(path) ?? { count: 0, ready: this.#mountUnlessMounted(place) };
    this.#readers.set(path, reader);
    reader.count += 1;
    try {
      await reader.ready;
      return await use();
    } finally {
      reader.count -= 1;
      if (reader.count === 0) {
        this.#readers.delete(path);
        await unmountDevice(path);
      }
    }
  }

  async #mountUnlessMounted(place: Place): Promise<void> {
    if (!(await isMounted(place.path))) await this.mount(place);
  }

  async make(path: string, shape: VolumeShape = {}, signal?: AbortSignal): Promise<void> {
    const { pool, id } = this.place(path);
    const fileSystem = fileSystemFor(pool, shape);
    const bytes = shape.bytes ?? (parseBytes(pool.config['volume.size'] ?? '') || defaultBytes);
    if (bytes < smallest[fileSystem])
      throw new DriverError('Invalid', `${bytes} bytes are too few: ${fileSystem} needs ${smallest[fileSystem]}`);
    await this.#store.create(pool, id, bytes);
    const device = await this.#store.open(pool, id);
    await makeFileSystem(fileSystem, device, signal);
    const readsZeros = this.#store.readsZeros(pool);
    const options = this.#optionsOf(this.place(path));
    await mountNew(device, path, { fileSystem, options, readOnly: false, readsZeros });
    await chmod(path, 0o700);
  }

  async copy(from: string, to: string, signal: AbortSignal, shape: VolumeShape = {}): Promise<void> {
    const [source, target] = [this.place(from), this.place(to)];
    const { pool } = source;
    if (!this.#store.canClone(pool) || !(await this.#fitsAsClone(source, shape))) {
      await this.make(to, { ...(await this.shapeOf(from)), ...shape }, signal);
      return this.withFiles(from, () => copyGuestTreeInto(from, to, true, signal));
    }
    signal.throwIfAborted();
    await this.clone(source, target);
    if (shape.bytes !== undefined) await this.resize(to, shape.bytes);
  }

  async #fitsAsClone(source: Place, shape: VolumeShape): Promise<boolean> {
    const { pool, id } = source;
    const fileSystem = await fileSystemOn(await this.#store.open(pool, id));
    const wanted = id.startsWith(`${volumeFolder('image')}/`) ? fileSystemFor(pool, shape) : shape.fileSystem;
    if (wanted !== undefined && wanted !== fileSystem) return false;
    if (fileSystem !== 'xfs' || shape.bytes === undefined) return true;
    return shape.bytes >= ((await this.#store.find(pool, id))?.bytes ?? 0);
  }

  /** Whole before it has its name: a btrfs file system gets an id of its own. */
  async clone(source: Place, target: Place): Promise<void> {
    const { pool } = source;
    const fileSystem = await fileSystemOn(await this.#store.open(pool, source.id));
    if (fileSystem !== 'btrfs') return this.#store.clone(pool, source.id, target.id);
    const draft = isTemporary(target.id) ? target.id : `${temporaryFolder}/${randomUUID()}`;
    try {
      await this.#store.clone(pool, source.id, draft);
      await run(commands.newId(await this.#store.open(pool, draft)));
      if (draft !== target.id) await this.#store.rename(pool, draft, target.id);
    } catch (error) {
      await this.#store.remove(pool, draft);
      throw error;
    }
  }

  async import(from: string, to: string, signal: AbortSignal, shape?: VolumeShape): Promise<void> {
    await this.make(to, shape, signal);
    await copyGuestTreeInto(from, to, true, signal);
  }

  async remove(path: string): Promise<void> {
    const { pool, id } = this.place(path);
    await unmountDevice(path);
    await this.#store.remove(pool, id);
  }

  async move(from: string, to: string): Promise<void> {
    const [source, target] = [this.place(from), this.place(to)];
    await unmountDevice(from);
    await this.#store.rename(source.pool, source.id, target.id);
    if (!isKeptMounted(target.id)) return;
    const own = isKeptMounted(source.id) ? this.#options.get(from) : undefined;
    if (own !== undefined) this.#options.set(to, own);
    await this.mount(target).catch(async (error: unknown) => {
      await this.#store.rename(source.pool, target.id, source.id);
      throw error;
    });
  }

  async shapeOf(path: string): Promise<VolumeShape> {
    const { pool, id } = this.place(path);
    const found = await this.#store.find(pool, id);
    if (found === undefined) return {};
    return { bytes: found.bytes, fileSystem: await fileSystemOn(await this.#store.open(pool, id)) };
  }

  async resize(path: string, bytes: number): Promise<void> {
    const place = this.place(path);
    await resizeVolume(this.#store, place, bytes, this.#mounting(place));
  }

  #mounting(place: Place): Mounting {
    return {
      mounted: async (use) => {
        if (isKeptMounted(place.id)) await this.#mountUnlessMounted(place);
        await this.withFiles(place.path, use);
      },
      unmounted: async (use) => {
        await unmountDevice(place.path);
        try {
          await use();
        } finally {
          if (isKeptMounted(place.id)) await this.mount(place);
        }
      },
    };
  }

  async limits(root: string): Promise<ReadonlyMap<string, number>> {
    const { pool } = this.place(root);
    const volumes = await this.#store.list(pool);
    return new Map(volumes.filter(({ id }) => isKeptMounted(id)).map(({ id, bytes }) => [id, bytes]));
  }

  /** Volumes that are there are mounted. One that cannot be is reported, and does not keep the others from it. */
  async mountAll(pool: PoolSpec): Promise<void> {
    const root = this.root(pool);
    for (const { id, isResizing } of await this.#store.list(pool)) {
      const place = { pool, id, path: join(root, id) };
      if (!isKeptMounted(id)) continue;
      try {
        if (isResizing) await fitToDevice(this.#store, place, this.#mounting(place));
        await this.#mountUnlessMounted(place);
      } catch (error) {
        this.#deps.log.warn(`Volume ${id} of pool ${pool.name} cannot be mounted`, { error: String(error) });
      }
    }
  }

  /** After a crash: what is half made or half deleted goes, and what a restore took out of its place is put back. */
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

  /** Volumes in use get the mount options that the pool has now. */
  async remountAll(pool: PoolSpec): Promise<void> {
    const root = this.root(pool);
    for (const { id } of await this.#store.list(pool)) {
      const path = join(root, id);
      if (isKeptMounted(id) && (await isMounted(path))) await remount(path, this.#optionsOf({ pool, path, id }));
    }
  }

  async unmountAll(pool: PoolSpec): Promise<void> {
    const root = this.root(pool);
    for (const { id } of await this.#store.list(pool)) await unmountDevice(join(root, id));
  }

  kind(): BlockKind {
    return {
      root: (pool) => this.root(pool),
      isDurable: true,
      names: blockNames(
        this.#store,
        (path) => this.place(path),
        (from, to) => this.move(from, to),
      ),
      withFiles: (path, use) => this.withFiles(path, use),
      useMountOptions: (path, options) => this.useMountOptions(path, options),
      shapeOf: (path) => this.shapeOf(path),
      makeTree: (path, shape) => this.make(path, shape),
      copyTree: (from, to, _by, signal, shape) => this.copy(from, to, signal, shape),
      importTree: (from, to, signal, shape) => this.import(from, to, signal, shape),
      removeTree: (path) => this.remove(path),
      atomic: {
        isWhole: (path) => Promise.resolve(this.#store.canClone(this.place(path).pool)),
        snapshot: (from, to) => this.clone(this.place(from), this.place(to)),
        drop: (path) => this.remove(path),
        // It is only ever mounted to be read.
        seal: () => Promise.resolve(),
      },
      // Every volume has a size: without a limit it keeps the one that it has.
      limitTree: (path, bytes) => (bytes === undefined ? Promise.resolve() : this.resize(path, bytes)),
      limitsIn: (root) => this.limits(root),
    };
  }
}

function fileSystemFor(pool: PoolSpec, shape: VolumeShape): FileSystem {
  const wanted = shape.fileSystem || pool.config['volume.block.filesystem'] || 'ext4';
  if (!isFileSystem(wanted)) throw new DriverError('Invalid', `${wanted} is not a file system that volumes can have`);
  return wanted;
}
