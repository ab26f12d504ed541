// The `ceph` storage driver: a volume is an image of RBD with a file system on it; copies and snapshots are clones, which share its blocks.
import { exec } from '../../../lib/exec.ts';
import { isThere } from '../../../lib/shared/missing-files.ts';
import { BlockTrees } from '../blocks/blocks.ts';
import type { StorageDriver, UnpackImage } from '../driver.ts';
import type { MountedDeps } from '../mounted/trees.ts';
import { missingProgram } from '../programs.ts';
import { openTreeDriver } from '../trees/driver.ts';
import { kernelDevices, type RbdDevices } from './devices.ts';
import { cephResources, createCephPool, deleteCephPool, fillCephConfig, findCephPool, mountCephPool } from './pool.ts';
import { CephStore } from './store.ts';

export interface CephStorageDeps extends MountedDeps {
  readonly unpackImage: UnpackImage;
  /** Default: those of the kernel. */
  readonly devices?: RbdDevices;
}

const programs = [
  ...['ceph', 'rbd', 'rados'].map((program) => [program, 'ceph-common'] as const),
  ['mkfs.ext4', 'e2fsprogs'],
  ['fsfreeze', 'util-linux'],
] as const;

export async function cephMissing(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'ceph pools need root';
  const missing = await missingProgram(programs);
  if (missing !== undefined || (await kernelHasRbd())) return missing;
  await exec(['modprobe', 'rbd']).catch(() => undefined);
  return (await kernelHasRbd()) ? undefined : 'the kernel of this host has no module rbd';
}

const kernelHasRbd = (): Promise<boolean> => isThere('/sys/bus/rbd');

export function openCephStorage(deps: CephStorageDeps): StorageDriver {
  const store = new CephStore(deps.devices ?? kernelDevices);
  const trees = new BlockTrees(store, deps);
  const parts = { root: deps.root, store, trees };
  return openTreeDriver(
    {
      ...trees.kind(),
      name: 'ceph',
      capabilities: { cheapCopies: true, quotas: true, snapshots: true, ownFileSystems: true },
      fillConfig: fillCephConfig,
      findPool: findCephPool,
      createPool: (pool) => createCephPool(parts, pool),
      deletePool: (pool) => deleteCephPool(parts, pool),
      async applyConfig(pool, before) {
        const key = 'volume.block.mount_options';
        if (before.config[key] !== pool.config[key]) await trees.remountAll(pool);
      },
      mountPool: (pool, busy) => mountCephPool(parts, pool, busy),
      resources: cephResources,
    },
    { ...deps, ownership: 'keep' },
  );
}
