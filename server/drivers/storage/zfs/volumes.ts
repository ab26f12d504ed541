// Block volumes of ZFS (`zfs.block_mode`): datasets of a size with a file system on each, beside those that are file systems themselves.
import { readlink, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTrue } from '../../../api/text/value-checks.ts';
import { exec } from '../../../lib/exec.ts';
import { driverErrors } from '../../driver-error.ts';
import { BlockTrees } from '../blocks/blocks.ts';
import { commands as fileSystemCommands } from '../blocks/commands.ts';
import type { BlockStore, BlockVolume } from '../blocks/store.ts';
import type { PoolSpec, VolumeShape } from '../driver.ts';
import { volumeFolder } from '../layout.ts';
import { isMounted } from '../mounted/mounts.ts';
import type { MountedDeps, Place } from '../mounted/trees.ts';
import { commands, resizingProperty, type Dataset } from './commands.ts';
import { cloneDataset, datasetFor, findDataset, idValues, runZfs, zfsStore } from './datasets.ts';

/** ZFS rounds sizes to its blocks; file systems like whole mebibytes. */
const unit = 1_048_576;
/** udev makes the name of a device after ZFS has made the device. */
const deviceMs = 30_000;

export const isOfImage = (id: string): boolean => id.startsWith(`${volumeFolder('image')}/`);

/** Whether copies of containers and custom volumes share blocks; those of images always do. */
export const sharesBlocks = ({ config }: PoolSpec, id: string): boolean => {
  const value = config['zfs.clone_copy'] ?? '';
  return value === '' || isTrue(value) || isOfImage(id);
};

const asVolume = (id: string, { volumeBytes, isResizing }: Dataset): BlockVolume | undefined =>
  volumeBytes === undefined ? undefined : { id, bytes: volumeBytes, isResizing };

const zvolStore: BlockStore = {
  canClone: () => true,
  copiesFiles: (pool, id) => !sharesBlocks(pool, id),
  readsZeros: () => true,
  rounded: (_pool, bytes) => Math.ceil(bytes / unit) * unit,
  async list(pool) {
    return (await zfsStore.list(pool)).flatMap(({ id, dataset }) => asVolume(id, dataset) ?? []);
  },
  has: (pool, id) => zfsStore.has(pool, id),
  async find(pool, id) {
    const found = await findDataset(datasetFor(pool, id));
    return found === undefined ? undefined : asVolume(id, found);
  },
  async create(pool, id, bytes) {
    const command = commands.makeVolume(datasetFor(pool, id), zvolStore.rounded(pool, bytes), idValues(id));
    await runZfs(command, `cannot make a block volume of ${bytes} bytes`);
  },
  clone: (pool, from, to, mountedAt) =>
    cloneDataset(pool, from, to, {
      atRest: (command) => (mountedAt === undefined ? command : fileSystemCommands.atRest(mountedAt, command)),
    }),
  rename: (pool, from, to) => zfsStore.rename(pool, from, to),
  remove: (pool, id) => zfsStore.remove(pool, id),
  async beginResize(pool, id) {
    await runZfs(commands.set(datasetFor(pool, id), { [resizingProperty]: 'yes' }), `cannot change the size of ${id}`);
  },
  async resize(pool, id, bytes) {
    if ((await zvolStore.find(pool, id))?.bytes === bytes) return;
    const what = `cannot change the size of ${id} to ${bytes} bytes`;
    await runZfs(commands.set(datasetFor(pool, id), { volsize: String(bytes) }), what);
  },
  async endResize(pool, id) {
    await runZfs(commands.unset(datasetFor(pool, id), resizingProperty), `cannot end the change of size of ${id}`);
  },
  async open(pool, id) {
    const dataset = datasetFor(pool, id);
    const until = performance.now() + deviceMs;
    for (;;) {
      const device = await deviceOf(dataset);
      if (device !== undefined) return device;
      if (performance.now() > until) throw driverErrors.failed(`the block volume ${dataset} has no device`);
      await sleep(100);
    }
  },
};

/** Names in /dev/zvol follow a creation or a rename late, or never without udev, so each device is asked what it is of. */
async function deviceOf(dataset: string): Promise<string | undefined> {
  const name = join('/dev/zvol', dataset);
  const named = await readlink(name).catch(() => undefined);
  const others = (await readdir('/dev')).filter((entry) => /^zd\d+$/.test(entry)).map((entry) => `/dev/${entry}`);
  for (const device of new Set([...(named === undefined ? [] : [join(name, '..', named)]), ...others])) {
    const { stdout } = await exec(commands.nameOfDevice(device), { okCodes: [0, 1] });
    if (stdout.trim() === dataset) return device;
  }
  return undefined;
}

/** `withFiles`: that of all trees of the pool, which counts who reads a tree. */
export class ZvolTrees extends BlockTrees {
  readonly #withFiles: <T>(path: string, use: () => Promise<T>) => Promise<T>;

  constructor(deps: MountedDeps, withFiles: <T>(path: string, use: () => Promise<T>) => Promise<T>) {
    super(zvolStore, deps);
    this.#withFiles = withFiles;
  }

  override withFiles<T>(path: string, use: () => Promise<T>): Promise<T> {
    return this.#withFiles(path, use);
  }

  override async shapeOf(path: string): Promise<VolumeShape> {
    return { ...(await super.shapeOf(path)), isBlock: true };
  }

  /** After a crash: a file system that was at rest for a snapshot, or a size that was being changed. */
  async complete(place: Place, { id, dataset }: { readonly id: string; readonly dataset: Dataset }): Promise<void> {
    const volume = asVolume(id, dataset);
    if (volume === undefined) return;
    if (await isMounted(place.path)) await exec(fileSystemCommands.thaw(place.path), { okCodes: [0, 1] });
    await this.mend(place, volume);
  }
}
