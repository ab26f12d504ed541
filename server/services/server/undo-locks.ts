// The locks for changing a record: a failed change is undone under them.
import type { RecordName } from '../../operations/pending-undos.ts';
import type { Records } from '../../records/records.ts';
import { type VolumeId, volumeIdOf } from '../../records/record-names.ts';
import { lockOf as containerLock } from '../shared/find-container.ts';
import { imageFilesLock, imageLock } from '../images/image-deps.ts';
import { heldBy } from '../shared/owned-records.ts';
import { networkLock } from '../networks/networks.ts';
import { poolLock } from '../storage/pools.ts';
import { containersUsing } from '../storage/volume-users.ts';
import { volumeLock } from '../storage/volume-checks.ts';
import { useLock } from '../storage/volume-use.ts';

export function undoLocksOf(records: Records, { kind, name }: RecordName): readonly string[] {
  if (kind === 'networks') return [networkLock(name)];
  if (kind === 'pools') return [poolLock(name)];
  if (kind === 'images') return [imageLock(name), imageFilesLock(name)];
  const holder = heldBy(kind, name, (owners) => records[owners].list());
  if (holder === undefined) return [];
  return holder.kind === 'containers' ? [containerLock(holder.name)] : volumeLocks(records, volumeIdOf(holder.name));
}

/** A volume changes while no container with it starts. */
function volumeLocks(records: Records, volume: VolumeId): readonly string[] {
  return [volumeLock(volume), useLock(volume), ...containersUsing(records, volume).map((user) => containerLock(user))];
}
