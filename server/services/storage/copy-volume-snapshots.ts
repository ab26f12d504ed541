// Copies the snapshots of a custom volume to another one, of the same pool or another.
import type { SnapshotSource } from '../../drivers/storage/driver.ts';
import type { VolumeId } from '../../records/record-names.ts';
import { refOf, type VolumeSnapshots } from './custom-volumes.ts';
import type { Pools } from './pools.ts';
import { ofCustomSnapshots } from './volume-shapes.ts';

/** Keeps existing snapshots: idempotent. */
export async function copyVolumeSnapshots(
  pools: Pools,
  from: VolumeId,
  to: VolumeId,
  snapshots: VolumeSnapshots,
  signal: AbortSignal,
): Promise<void> {
  const volumeOf = ofCustomSnapshots(refOf(to.name), snapshots);
  for (const { name } of snapshots) {
    const source = pools.copySource(from.pool, refOf(from.name), name, to.pool);
    const snapshotSource: SnapshotSource =
      source.kind === 'tree' ? source : { kind: 'copy', from: { volume: refOf(from.name), snapshot: name } };
    await pools.createSnapshot(to.pool, { volume: volumeOf(name), snapshot: name }, snapshotSource, signal);
  }
}
