// The `zfs` storage driver: a volume is a dataset, copies and snapshots are clones, which share its blocks.
import { chmod, mkdir, readFile } from 'node:fs/promises';
import { isTrue } from '../../../api/text/value-checks.ts';
import { exec, ExecError } from '../../../lib/exec.ts';
import { DriverError } from '../../driver-error.ts';
import { copyGuestTreeInto } from '../copy-tree.ts';
import type { LimitForm, StorageDriver, UnpackImage } from '../driver.ts';
import { volumeFolder } from '../layout.ts';
import { run } from '../mounted/mounts.ts';
import { staysMounted, isWritten, MountedTrees, type MountedDeps, type Place } from '../mounted/trees.ts';
import { missingProgram } from '../programs.ts';
import { openTreeDriver } from '../tree-driver.ts';
import type { TreeKind } from '../tree-kind.ts';
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
import { zfsStreams } from './streams.ts';

export interface ZfsStorageDeps extends MountedDeps {
  readonly unpackImage: UnpackImage;
}

/** Undefined when this host can have zfs pools, else what is missing. */
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
  constructor(deps: MountedDeps) {
    super(zfsStore, deps);
  }

  override async mount({ pool, path, id }: Place): Promise<void> {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await run(commands.mount(datasetFor(pool, id), path, isWritten(id) ? 'rw' : 'ro'));
  }

  async make(path: string): Promise<void> {
    const place = this.place(path);
    await makeDataset(place.pool, place.id);
    await this.mount(place);
    await chmod(path, 0o700);
  }

  /** Containers of an image are always clones. */
  async copy(from: string, to: string, signal: AbortSignal): Promise<void> {
    const [source, target] = [this.place(from), this.place(to)];
    signal.throwIfAborted();
    const isOfImage = source.id.startsWith(`${volumeFolder('image')}/`);
    const clone = source.pool.config['zfs.clone_copy'] ?? '';
    if (clone === '' || isTrue(clone) || isOfImage) return cloneDataset(source.pool, source.id, target.id);
    await this.import(from, to, signal);
  }

  async import(from: string, to: string, signal: AbortSignal): Promise<void> {
    await this.make(to);
    await this.withFiles(from, () => copyGuestTreeInto(from, to, true, signal));
  }

  async limit(path: string, bytes: number | undefined, how: LimitForm): Promise<void> {
    const { pool, id } = this.place(path);
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
        throw new DriverError('Invalid', `it holds ${holds} bytes, more than ${bytes}: delete files, or give it more`);
      // ZFS has no limit below what is used: nothing more can be written.
      await run(commands.set(dataset, limits(holds)));
    }
  }

  async limits(root: string): Promise<ReadonlyMap<string, number>> {
    const all = await zfsStore.list(this.place(root).pool);
    return new Map(
      all.flatMap(({ id, dataset: { quota, refquota } }) => {
        const limit = quota || refquota;
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
      makeTree: (path) => this.make(path),
      copyTree: (from, to, _by, signal) => this.copy(from, to, signal),
      importTree: (from, to, signal) => this.import(from, to, signal),
      atomic: {
        isWhole: () => Promise.resolve(true),
        snapshot: (from, to) => this.#clone(this.place(from), this.place(to)),
        drop: (path) => this.remove(path),
        // It is only ever mounted to be read.
        seal: () => Promise.resolve(),
      },
      native: zfsStreams(this),
      limitTree: (path, bytes, how) => this.limit(path, bytes, how),
      limitsIn: (root) => this.limits(root),
    };
  }

  #clone(source: Place, target: Place): Promise<void> {
    return cloneDataset(source.pool, source.id, target.id, true);
  }
}

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
      applyConfig: (pool, before) => applyZfsConfig(deps.root, pool, before),
      mountPool: (pool, busy) => mountZfsPool(deps.root, pool, trees, busy),
      resources: zfsResources,
    },
    { ...deps, ownership: 'keep' },
  );
}
