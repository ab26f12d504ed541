// Describes the owners of a container's files to other hosts: as the container sees them.
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExportForm, TreeRef, VolumeRef } from '../../../drivers/storage/driver.ts';
import type { ContainerDeps } from '../../containers/deps.ts';
import { holdsHostId, toGuestId } from '../../../drivers/runtime/idmap/id-map.ts';
import { treeOnDisk } from '../../containers/files/file-tree.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { filesAt } from '../../storage/pools.ts';
import { snapshotKey } from '../../containers/shared/snapshot-records.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export type OwnerOf = NonNullable<Extract<ExportForm, { kind: 'tar' }>['ownerOf']>;

export const treeOf = (volume: VolumeRef, snapshot: string | undefined): TreeRef => ({
  volume,
  ...withoutUndefined({ snapshot }),
});

/** Undefined if owners on disk are already the ones that the container sees, as on every host that maps ids on mount. */
export async function ownersOf(
  deps: Pick<ContainerDeps, 'records' | 'runtime' | 'pools' | 'idMaps'>,
  poolOf: string,
  { volume, snapshot }: TreeRef,
): Promise<OwnerOf | undefined> {
  const { driver, pool } = deps.pools.use(poolOf);
  const path =
    snapshot === undefined ? driver.volumePath(pool, volume) : driver.snapshotPath(pool, { volume, snapshot });
  const { document } = readyContainer(deps.records, volume.name);
  // A snapshot has the owners of the time when it was taken.
  const taken = snapshot === undefined ? undefined : deps.records.snapshots.get(snapshotKey(document.uuid, snapshot));
  const config = taken?.document.config ?? document.config;
  const rootfs = join(path, 'rootfs');
  if (Object.keys(deps.idMaps.unfinished({ config })).length > 0) {
    const maps = deps.idMaps.filesOf({ config });
    return (kind, id) => toGuestId(maps.find((map) => holdsHostId(map, kind, id)) ?? [], kind, id);
  }
  return filesAt(driver, path, async () => {
    const { uid } = await lstat(rootfs);
    if (uid === 0 || uid === process.getuid?.()) return undefined;
    const { ids } = treeOnDisk(deps, { name: volume.name, document: { ...document, config } }, rootfs);
    return (kind, id) => ids.toGuest(kind, id);
  });
}
