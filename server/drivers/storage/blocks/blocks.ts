// Volumes as block devices with a file system on each: what such a driver adds to trees/driver.ts. The devices are a BlockStore's.
import { randomUUID } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { parseBytes } from '../../../api/text/byte-size.ts';
import { withCleanup } from '../../../lib/revert.ts';
import { DriverError, driverErrors } from '../../driver-error.ts';
import { asDriverError, copyGuestTreeInto } from '../copy-tree.ts';
import type { PoolSpec, VolumeShape } from '../driver.ts';
import { temporaryFolder, volumeFolder } from '../layout.ts';
import { isMounted, run, unmountDevice } from '../mounted/mounts.ts';
import { staysMounted, isWritten, MountedTrees, type MountedDeps, type Place } from '../mounted/trees.ts';
import type { TreeKind } from '../trees/kind.ts';
import { OpenDevices } from './open-devices.ts';
import { commands, isFileSystem, smallest, type FileSystem } from './commands.ts';
import { fileSystemOn, makeFileSystem, mountDevice, mountNew, remount } from './mounts.ts';
import { fitToDevice, type Mounting, resizeVolume } from './resize.ts';
import type { BlockStore, BlockVolume } from './store.ts';

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

export class BlockTrees extends MountedTrees<BlockVolume> {
  readonly #store: BlockStore;
  readonly #devices: OpenDevices;
  /** Mount options of volumes that have their own, by path. */
  readonly #options = new Map<string, string>();

  constructor(store: BlockStore, deps: MountedDeps) {
    super(store, deps);
    this.#store = store;
    this.#devices = new OpenDevices(store, deps.log);
  }

  override async mount(place: Place): Promise<void> {
    await this.#devices.within(place, async (device) =>
      mountDevice(device, place.path, await this.#form(place, device)),
    );
  }

  override async unmount(place: Place, how?: { readonly goes?: boolean }): Promise<void> {
    await super.unmount(place, how);
    await this.#devices.closeIdle(place);
  }

  #fileSystemOf(place: Place): Promise<FileSystem> {
    return this.#devices.within(place, fileSystemOn);
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
      readOnly: !isWritten(id),
      readsZeros: this.#store.readsZeros(pool),
    };
  }

  async make(path: string, shape: VolumeShape = {}, signal?: AbortSignal): Promise<void> {
    const place = this.place(path);
    const { pool, id } = place;
    const fileSystem = fileSystemFor(pool, shape);
    const usual = shape.bytes ?? (parseBytes(pool.config['volume.size'] ?? '') || defaultBytes);
    const bytes = Math.max(usual, shape.minBytes ?? 0);
    if (bytes < smallest[fileSystem])
      throw driverErrors.invalid(`${bytes} bytes are too few: ${fileSystem} needs ${smallest[fileSystem]}`);
    await this.#store.create(pool, id, bytes);
    const readsZeros = this.#store.readsZeros(pool);
    const options = this.#optionsOf(place);
    await this.#devices.within(place, async (device) => {
      await makeFileSystem(fileSystem, device, signal);
      await mountNew(device, path, { fileSystem, options, readOnly: false, readsZeros });
    });
    await chmod(path, 0o700);
  }

  async copy(from: string, to: string, signal: AbortSignal, shape: VolumeShape = {}): Promise<void> {
    const [source, target] = [this.place(from), this.place(to)];
    const { pool, id } = source;
    const isCopied = !this.#store.canClone(pool) || this.#store.copiesFiles?.(pool, id) === true;
    if (isCopied || !(await this.#fitsAsClone(source, shape))) return this.#copyFiles(from, to, signal, shape);
    signal.throwIfAborted();
    await this.clone(source, target);
    const bytes = shape.bytes ?? (await this.#enlarged(target, shape));
    if (bytes === undefined) return;
    try {
      await this.resize(to, bytes);
    } catch (error) {
      if (!(error instanceof DriverError) || error.code !== 'Invalid') throw error;
      await this.#copyIntoSmaller(from, to, error, signal, shape);
    }
  }

  /** Undefined: it is large enough. */
  async #enlarged({ pool, id }: Place, { minBytes = 0 }: VolumeShape): Promise<number | undefined> {
    if (minBytes === 0) return undefined;
    return ((await this.#store.find(pool, id))?.bytes ?? 0) < minBytes ? minBytes : undefined;
  }

  async #copyFiles(from: string, to: string, signal: AbortSignal, shape: VolumeShape): Promise<void> {
    await this.make(to, { ...(await this.shapeOf(from)), ...shape }, signal);
    await this.withFiles(from, () => copyGuestTreeInto(from, to, true, signal));
  }

  /** A file system of 10 GB keeps tables that alone need some 100 MB when it shrinks; a new one of the wanted size has smaller tables. */
  async #copyIntoSmaller(
    from: string,
    to: string,
    refusal: DriverError,
    signal: AbortSignal,
    shape: VolumeShape,
  ): Promise<void> {
    await this.remove(to);
    await this.#copyFiles(from, to, signal, shape).catch((error: unknown) => {
      throw asDriverError('copy', error).code === 'NoSpace' ? refusal : error;
    });
  }

  async #fitsAsClone(source: Place, shape: VolumeShape): Promise<boolean> {
    const { pool, id } = source;
    const fileSystem = await this.#fileSystemOf(source);
    const wanted = id.startsWith(`${volumeFolder('image')}/`) ? fileSystemFor(pool, shape) : shape.fileSystem;
    if (wanted !== undefined && wanted !== fileSystem) return false;
    if (fileSystem !== 'xfs' || shape.bytes === undefined) return true;
    return shape.bytes >= ((await this.#store.find(pool, id))?.bytes ?? 0);
  }

  /** Whole before it has its name: a btrfs file system gets an id of its own. */
  async clone(source: Place, target: Place): Promise<void> {
    const { pool } = source;
    const fileSystem = await this.#fileSystemOf(source);
    const path = isWritten(source.id) && (await isMounted(source.path)) ? source.path : undefined;
    if (fileSystem !== 'btrfs') return this.#store.clone(pool, source.id, target.id, path);
    const draft = target.id.startsWith(`${temporaryFolder}/`) ? target.id : `${temporaryFolder}/${randomUUID()}`;
    try {
      await this.#store.clone(pool, source.id, draft, path);
      const place = { pool, id: draft, path: join(this.root(pool), draft) };
      await this.#devices.within(place, async (device) => void (await run(commands.newId(device))));
      if (draft !== target.id) await this.#store.rename(pool, draft, target.id);
    } catch (error) {
      await this.#store.remove(pool, draft).catch(this.failed(`Removing the unfinished volume ${draft}`));
      throw error;
    }
  }

  async import(from: string, to: string, signal: AbortSignal, shape?: VolumeShape): Promise<void> {
    await this.make(to, shape, signal);
    await copyGuestTreeInto(from, to, true, signal);
  }

  override async move(from: string, to: string): Promise<void> {
    const own = [from, to].every((path) => staysMounted(this.place(path).id)) ? this.#options.get(from) : undefined;
    if (own !== undefined) this.#options.set(to, own);
    await super.move(from, to);
  }

  async shapeOf(path: string): Promise<VolumeShape> {
    const place = this.place(path);
    const found = await this.#store.find(place.pool, place.id);
    if (found === undefined) return {};
    return { bytes: found.bytes, fileSystem: await this.#fileSystemOf(place) };
  }

  async resize(path: string, bytes: number): Promise<void> {
    const place = this.place(path);
    await this.#devices.within(place, () => resizeVolume(this.#store, place, bytes, this.#mounting(place)));
  }

  #mounting(place: Place): Mounting {
    return {
      failed: (what) => this.failed(what),
      mounted: async (use) => {
        if (staysMounted(place.id)) await this.mountUnlessMounted(place);
        await this.withFiles(place.path, use);
      },
      unmounted: async (use) => {
        await unmountDevice(place.path);
        const mountAgain = async (): Promise<void> => {
          if (staysMounted(place.id)) await this.mount(place);
        };
        await withCleanup(use, mountAgain, this.failed(`Mounting ${place.path} again`));
      },
    };
  }

  async limits(root: string): Promise<ReadonlyMap<string, number>> {
    const { pool } = this.place(root);
    const volumes = await this.#store.list(pool);
    return new Map(volumes.filter(({ id }) => staysMounted(id)).map(({ id, bytes }) => [id, bytes]));
  }

  protected override async mend(place: Place, { isResizing }: BlockVolume): Promise<void> {
    const isLost = (await isMounted(place.path)) && (await this.#store.isOpen?.(place.pool, place.id)) === false;
    if (isLost) await this.unmount(place, { goes: true });
    if (!isResizing) return;
    await this.#devices.within(place, () => fitToDevice(this.#store, place, this.#mounting(place)));
  }

  /** Volumes in use get the mount options that the pool has now. */
  async remountAll(pool: PoolSpec): Promise<void> {
    const root = this.root(pool);
    for (const { id } of await this.#store.list(pool)) {
      const path = join(root, id);
      if (staysMounted(id) && (await isMounted(path))) await remount(path, this.#optionsOf({ pool, path, id }));
    }
  }

  kind(): BlockKind {
    return {
      ...this.mounted(),
      useMountOptions: (path, options) => this.useMountOptions(path, options),
      shapeOf: (path) => this.shapeOf(path),
      makeTree: (path, shape) => this.make(path, shape),
      copyTree: (from, to, _by, signal, shape) => this.copy(from, to, signal, shape),
      importTree: (from, to, signal, shape) => this.import(from, to, signal, shape),
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
  if (!isFileSystem(wanted)) throw driverErrors.invalid(`${wanted} is not a file system that volumes can have`);
  return wanted;
}
