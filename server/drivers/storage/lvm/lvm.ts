// The `lvm` storage driver: a volume is a logical volume with a file system on it; of a thin pool, copies and snapshots share its blocks.
import { readFile } from 'node:fs/promises';
import { exec } from '../../../lib/exec.ts';
import { BlockTrees } from '../blocks/blocks.ts';
import { checkDirPool } from '../dir-pool.ts';
import type { StorageDriver, UnpackImage } from '../driver.ts';
import type { MountedDeps } from '../mounted/trees.ts';
import { missingProgram } from '../programs.ts';
import { openTreeDriver } from '../trees/driver.ts';
import { applyLvmConfig, createLvmPool, deleteLvmPool, fillLvmConfig, lvmResources, mountLvmPool } from './pool.ts';
import { lvmStore } from './store.ts';

export interface LvmStorageDeps extends MountedDeps {
  readonly unpackImage: UnpackImage;
}

const programs = [
  ['lvcreate', 'lvm2'],
  ['thin_check', 'thin-provisioning-tools'],
  ['mkfs.ext4', 'e2fsprogs'],
] as const;

export async function lvmMissing(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'lvm pools need root';
  const missing = await missingProgram(programs);
  if (missing !== undefined || (await hasDeviceMapper())) return missing;
  await exec(['modprobe', 'dm-thin-pool']).catch(() => undefined);
  return (await hasDeviceMapper()) ? undefined : 'the kernel of this host has no device mapper (dm_mod)';
}

/** The node /dev/mapper/control is no sign: it is also there on kernels without device mapper. */
async function hasDeviceMapper(): Promise<boolean> {
  return /\bdevice-mapper$/m.test(await readFile('/proc/misc', 'utf8'));
}

export function openLvmStorage(deps: LvmStorageDeps): StorageDriver {
  const trees = new BlockTrees(lvmStore, deps);
  return openTreeDriver(
    {
      ...trees.kind(),
      name: 'lvm',
      capabilities: { cheapCopies: true, quotas: true, snapshots: true, ownFileSystems: true },
      fillConfig: (pool) => fillLvmConfig(deps.root, pool),
      // The directory is made and deleted with the pool.
      findPool: async (pool) => {
        await checkDirPool(trees.root(pool), pool.name);
        return { ...pool.config };
      },
      createPool: (pool) => createLvmPool(deps.root, pool, trees),
      deletePool: (pool) => deleteLvmPool(deps.root, pool, trees),
      applyConfig: (pool, before) => applyLvmConfig(pool, before, trees),
      mountPool: (pool, busy) => mountLvmPool(deps.root, pool, trees, busy),
      resources: lvmResources,
    },
    { ...deps, ownership: 'keep' },
  );
}
