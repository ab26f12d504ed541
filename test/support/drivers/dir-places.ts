// Pools of directories for tests, each on a separate state directory.
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackImage } from '../../../server/drivers/image/unpack.ts';
import { openDirStorage } from '../../../server/drivers/storage/dir.ts';
import type { PoolSpec, StorageDriver, UnpackImage, VolumeRef } from '../../../server/drivers/storage/driver.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { tempFolder } from '../temp-folder.ts';

export const isRoot = process.getuid?.() === 0;
export const never: AbortSignal = new AbortController().signal;
export const container = (name: string): VolumeRef => ({ type: 'container', name });
export const custom = (name: string): VolumeRef => ({ type: 'custom', name });
export const image = { fingerprint: 'a'.repeat(64), metadataPath: '/nowhere' };

export interface DirPlace {
  readonly storage: StorageDriver;
  readonly pool: PoolSpec;
  readonly source: string;
  readonly state: string;
}

/** `base`: removed when the test file ends. */
export function dirPlaces() {
  const base = tempFolder('gantry-dir-');
  const place = async (unpack: UnpackImage = unpackImage, parent = base): Promise<DirPlace> => {
    const state = await mkdtemp(join(parent, 'state-'));
    const root = join(state, 'storage-pools');
    const ownership = isRoot ? 'keep' : 'ignore';
    const storage = openDirStorage({ root, unpackImage: unpack, ownership, log: silentLog });
    const pool = { name: 'p', driver: 'dir', config: {} };
    await storage.createPool(pool, never);
    return { storage, pool, source: join(root, 'p'), state };
  };
  return { base, place };
}
