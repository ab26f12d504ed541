// What pools with mounted trees do alike: refuse to go while volumes are left, and remove the directories of their place.
import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DriverError } from '../../driver-error.ts';
import type { PoolSpec } from '../driver.ts';
import { poolFolders, volumeFolder } from '../layout.ts';
import { hasCode } from '../remove-tree.ts';
import type { TreeStore } from './store.ts';

/** Throws InUse; `what` begins its message. */
export async function refuseVolumes(store: TreeStore, pool: PoolSpec, what: string): Promise<void> {
  const kept = [volumeFolder('container'), volumeFolder('custom')];
  const found = (await store.list(pool)).find(({ id }) => kept.some((folder) => id.startsWith(`${folder}/`)));
  if (found !== undefined) throw new DriverError('InUse', `${what} the volume ${found.id}`);
}

/** They are empty, or not there. */
export async function removePlace(root: string): Promise<void> {
  for (const path of [...poolFolders.map((folder) => join(root, folder)), root])
    await rmdir(path).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw new DriverError('Failed', `cannot delete the directory ${path}`, error);
    });
}
