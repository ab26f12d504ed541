// A storage driver that keeps nothing: it accepts the pools and volumes of the records. Dry runs on a copy of another server use it; it
// cannot know what that server's disks would refuse.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { driverErrors } from '../driver-error.ts';
import { fillDirConfig } from './dir.ts';
import type { PoolSpec, SnapshotRef, StorageDriver, VolumeRef } from './driver.ts';
import { recordsFolder, snapshotPathIn, volumePathIn } from './layout.ts';

export interface PretendedStorageDeps {
  /** Where directories of volumes are made on demand; they stay empty. */
  readonly root: string;
  readonly name: string;
}

const empty = Promise.resolve([]);
const done = (): Promise<void> => Promise.resolve();

export function openPretendedStorage({ root, name }: PretendedStorageDeps): StorageDriver {
  const directory = (path: string): string => {
    mkdirSync(join(path, 'rootfs'), { recursive: true });
    return path;
  };
  const place = (pool: PoolSpec): string => join(root, pool.name);
  const noFiles = (what: string): Promise<never> =>
    Promise.reject(driverErrors.notSupported(`${what} needs the files of the volume, which are not here`));
  return {
    name,
    capabilities: { cheapCopies: true, quotas: name !== 'dir', snapshots: true },
    fillConfig: async (pool) =>
      name === 'dir' ? fillDirConfig(root, pool) : { source: join(root, pool.name), ...pool.config },
    createPool: done,
    deletePool: done,
    applyConfig: done,
    mountPool: done,
    findPool: ({ name: of }) => Promise.reject(driverErrors.notFound(`there are no disks with a pool ${of}`)),
    recordsPath: (pool) => join(place(pool), recordsFolder),
    resources: () => Promise.resolve({ space: { used: 0, total: 0 }, inodes: { used: 0, total: 0 } }),
    volumePath: (pool: PoolSpec, volume: VolumeRef) => directory(volumePathIn(place(pool), volume)),
    hasVolume: () => Promise.resolve(false),
    createVolume: done,
    deleteVolume: done,
    renameVolume: done,
    listVolumes: () => empty,
    limitVolume: done,
    snapshotPath: (pool: PoolSpec, snapshot: SnapshotRef) => directory(snapshotPathIn(place(pool), snapshot)),
    createSnapshot: done,
    restoreSnapshot: done,
    deleteSnapshot: done,
    renameSnapshot: done,
    listSnapshots: () => empty,
    holdStill: () => noFiles('A backup'),
    exportVolume: () => noFiles('An export'),
    importVolume: () => noFiles('An import'),
    deriveVolume: () => noFiles('A change of its files'),
    hasNativeForm: () => Promise.resolve(false),
    streamId: () => Promise.resolve(undefined),
  };
}
