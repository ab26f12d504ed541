// The `zfs` storage driver: a volume is a dataset, copies and snapshots are clones, which share its blocks.
import { chmod, mkdir, readFile } from 'node:fs/promises';
import { isTrue } from '../../../api/text/value-checks.ts';
import { exec, ExecError } from '../../../lib/exec.ts';
import { driverErrors } from '../../driver-error.ts';
import { copyGuestTreeInto } from '../copy-tree.ts';
import type { LimitForm, PoolSpec, StorageDriver, UnpackImage, VolumeShape } from '../driver.ts';
import { run } from '../mounted/mounts.ts';
import { staysMounted, isWritten, MountedTrees, type MountedDeps, type Place } from '../mounted/trees.ts';
import { missingProgram } from '../programs.ts';
import { openTreeDriver } from '../trees/driver.ts';
import type { TreeKind } from '../trees/kind.ts';
import { commands, saysTooSmall } from './commands.ts';
import { cloneDataset, datasetFor, findDataset, makeDataset, zfsStore, type TreeDataset } from './datasets.ts';
import {
  applyZfsConfig,
  createZfsPool,
  deleteZfsPool,
  fillZfsConfig,
  findZfsPool,
  mountZfsPool,
  zfsResources,
} from './pool.ts';
import { stillProperty } from './moments.ts';
import { zfsStreams } from './streams.ts';
import { isOfImage, sharesBlocks, ZvolTrees } from './volumes.ts';

export interface ZfsStorageDeps extends MountedDeps {
  readonly unpackImage: UnpackImage;
}

export async function zfsMissing(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'zfs pools need root';
  const missing = await missingProgram(['zfs', 'zpool'].map((program) => [program, 'zfsutils-linux']));
  if (missing !== undefined || (await kernelHasZfs())) return missing;
  await exec(['modprobe', 'zfs']).catch(() => undefined);
  return (await kernelHasZfs())
    ? undefined
    : 'the kernel of this host has no module zfs: install the package zfs-dkms, or a kernel that has it';
}

async function kernelHasZfs(): Promise<boolean> {
  return /\bzfs$/m.test(await readFile('/proc/filesystems', 'utf8'));
}

export class ZfsTrees extends MountedTrees<TreeDataset> {
  readonly #blocks: ZvolTrees;
  /** Pools that have had a block volume: in all others none is looked for. */
  readonly #mixed = new Map<string, Promise<boolean>>();

  constructor(deps: MountedDeps) {
    super(zfsStore, deps);
    this.#blocks = new ZvolTrees(deps, (path, use) => this.withFiles(path, use));
  }

  override root(pool: PoolSpec): string {
    this.#blocks.root(pool);
    return super.root(pool);
  }

  override async mount(place: Place): Promise<void> {
    const { pool, path, id } = place;
    if (await this.#isBlock(place)) return this.#blocks.mount(place);
    await mkdir(path, { recursive: true, mode: 0o700 });
    await run(commands.mount(datasetFor(pool, id), path, isWritten(id) ? 'rw' : 'ro'));
  }

  protected override async mend(place: Place, entry: TreeDataset): Promise<void> {
    await this.#blocks.complete(place, entry);
  }

  async #isBlock({ pool, id }: Place): Promise<boolean> {
    const { name } = pool;
    const mixed = this.#mixed.get(name) ?? zfsStore.list(pool).then((all) => all.some(isBlockVolume));
    this.#mixed.set(name, mixed);
    // What could not be read is asked for again.
    mixed.catch(() => this.#mixed.delete(name));
    return (await mixed) && (await findDataset(datasetFor(pool, id)))?.volumeBytes !== undefined;
  }

  /** Before a pool of that name is mounted, which may be another one than before. */
  lookAgain({ name }: PoolSpec): void {
    this.#mixed.delete(name);
  }

  /** The pool may have block volumes from now on. */
  #expectBlocks({ name }: PoolSpec): void {
    this.#mixed.set(name, Promise.resolve(true));
  }

  async make(path: string, shape: VolumeShape = {}, signal?: AbortSignal): Promise<void> {
    const place = this.place(path);
    if (shape.isBlock ?? makesBlocks(place.pool)) {
      this.#expectBlocks(place.pool);
      return this.#blocks.make(path, shape, signal);
    }
    await makeDataset(place.pool, place.id);
    await this.mount(place);
    await chmod(path, 0o700);
  }

  /** Containers of an image are always clones, unless only one of both is a block volume. */
  async copy(from: string, to: string, signal: AbortSignal, shape: VolumeShape = {}): Promise<void> {
    const [source, target] = [this.place(from), this.place(to)];
    signal.throwIfAborted();
    const isBlock = await this.#isBlock(source);
    const wanted = shape.isBlock ?? (isOfImage(source.id) ? makesBlocks(source.pool) : isBlock);
    if (wanted !== isBlock) return this.import(from, to, signal, { ...shape, isBlock: wanted });
    if (isBlock) return this.#blocks.copy(from, to, signal, shape);
    if (sharesBlocks(source.pool, source.id)) return cloneDataset(source.pool, source.id, target.id);
    await this.import(from, to, signal, { isBlock: false });
  }

  async import(from: string, to: string, signal: AbortSignal, shape?: VolumeShape): Promise<void> {
    await this.make(to, shape, signal);
    await this.withFiles(from, () => copyGuestTreeInto(from, to, true, signal));
  }

  async limit(path: string, bytes: number | undefined, how: LimitForm): Promise<void> {
    const place = this.place(path);
    // A block volume without a limit keeps the size that it has.
    if (await this.#isBlock(place)) return bytes === undefined ? undefined : this.#blocks.resize(path, bytes);
    const { pool, id } = place;
    const dataset = datasetFor(pool, id);
    const isRef = how.withoutSnapshots ?? isTrue(pool.config['volume.zfs.use_refquota'] ?? '');
    const limits = (value: number | undefined): Record<string, string> => ({
      quota: isRef || value === undefined ? 'none' : String(value),
      refquota: isRef && value !== undefined ? String(value) : 'none',
    });
    try {
      await run(commands.set(dataset, limits(bytes)));
    } catch (error) {
      if (!(error instanceof ExecError) || !saysTooSmall(error.stderr)) throw error;
      const { used = 0, referenced = 0 } = (await findDataset(dataset)) ?? {};
      const holds = isRef ? referenced : used;
      if (how.mustHold === true)
        throw driverErrors.invalid(`it holds ${holds} bytes, more than ${bytes}: delete files, or give it more`);
      // ZFS has no limit below what is used: nothing more can be written.
      await run(commands.set(dataset, limits(holds)));
    }
  }

  async limits(root: string): Promise<ReadonlyMap<string, number>> {
    const all = await zfsStore.list(this.place(root).pool);
    return new Map(
      all.flatMap(({ id, dataset: { quota, refquota, volumeBytes } }) => {
        const limit = volumeBytes ?? (quota || refquota);
        return staysMounted(id) && limit > 0 ? [[id, limit] as const] : [];
      }),
    );
  }

  kind(): Omit<
    TreeKind,
    'name' | 'capabilities' | 'fillConfig' | 'createPool' | 'deletePool' | 'applyConfig' | 'mountPool'
  > {
    return {
      ...this.mounted(),
      useMountOptions: async (path, options) => {
        if (await this.#isBlock(this.place(path))) await this.#blocks.useMountOptions(path, options);
      },
      shapeOf: async (path) =>
        (await this.#isBlock(this.place(path))) ? this.#blocks.shapeOf(path) : { isBlock: false },
      makeTree: (path, shape) => this.make(path, shape),
      copyTree: (from, to, _by, signal, shape) => this.copy(from, to, signal, shape),
      importTree: (from, to, signal, shape) => this.import(from, to, signal, shape),
      atomic: {
        isWhole: () => Promise.resolve(true),
        snapshot: (from, to) => this.#clone(this.place(from), this.place(to)),
        drop: (path) => this.remove(path),
        // It is only ever mounted to be read.
        seal: () => Promise.resolve(),
      },
      native: zfsStreams(this, (pool) => this.#expectBlocks(pool)),
      limitTree: (path, bytes, how) => this.limit(path, bytes, how),
      limitsIn: (root) => this.limits(root),
    };
  }

  async #clone(source: Place, target: Place): Promise<void> {
    if (await this.#isBlock(source)) return this.#cloneBlock(source, target);
    await cloneDataset(source.pool, source.id, target.id, { isStill: true });
  }

  async #cloneBlock(source: Place, target: Place): Promise<void> {
    const { fileSystem } = await this.#blocks.shapeOf(source.path);
    await this.#blocks.clone(source, target);
    // A copy of a btrfs file system was given another id.
    if (fileSystem === 'btrfs') return;
    await run(commands.set(datasetFor(target.pool, target.id), { [stillProperty]: 'yes' }));
  }

  /** Block volumes in use get the mount options that the pool has now. */
  async remountBlocks(pool: PoolSpec): Promise<void> {
    await this.#blocks.remountAll(pool);
  }
}

const isBlockVolume = ({ dataset }: TreeDataset): boolean => dataset.volumeBytes !== undefined;

const makesBlocks = ({ config }: PoolSpec): boolean => isTrue(config['volume.zfs.block_mode'] ?? '');

export function openZfsStorage(deps: ZfsStorageDeps): StorageDriver {
  const trees = new ZfsTrees(deps);
  return openTreeDriver(
    {
      ...trees.kind(),
      name: 'zfs',
      capabilities: { cheapCopies: true, quotas: true, snapshots: true, nativeStreams: 'zfs' },
      fillConfig: (pool) => fillZfsConfig(deps.root, pool),
      findPool: (pool) => findZfsPool(deps.root, pool),
      createPool: (pool) => createZfsPool(deps.root, pool, trees),
      deletePool: (pool) => deleteZfsPool(deps.root, pool, trees),
      applyConfig: async (pool, before) => {
        await applyZfsConfig(deps.root, pool, before);
        const key = 'volume.block.mount_options';
        if (before.config[key] !== pool.config[key]) await trees.remountBlocks(pool);
      },
      mountPool: (pool, busy) => {
        trees.lookAgain(pool);
        return mountZfsPool(deps.root, pool, trees, busy);
      },
      resources: zfsResources,
    },
    { ...deps, ownership: 'keep' },
  );
}
