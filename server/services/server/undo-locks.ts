// The locks under which a record is changed: a failed change is undone under them.
import { assertNever } from '../../lib/shared/assert-never.ts';
import type { RecordName } from '../../operations/pending-undos.ts';
import type { Records } from '../../records/records.ts';
import { type VolumeId, volumeIdOf } from '../../records/record-names.ts';
import { lockOf as containerLock } from '../shared/find-container.ts';
import { imageFilesLock, imageLock } from '../images/image-deps.ts';
import { ownerOf } from '../shared/owned-records.ts';
import { networkLock } from '../networks/networks.ts';
import { poolLock } from '../storage/pools.ts';
import { containersUsing } from '../storage/volume-users.ts';
import { volumeLock } from '../storage/volume-checks.ts';

export function undoLocksOf(records: Records, { kind, name }: RecordName): readonly string[] {
  switch (kind) {
    case 'containers':
      return [containerLock(name)];
    case 'networks':
      return [networkLock(name)];
    case 'pools':
      return [poolLock(name)];
    case 'images':
      return [imageLock(name), imageFilesLock(name)];
    case 'volumes':
      return volumeLocks(records, volumeIdOf(name));
    case 'snapshots':
    case 'backups': {
      const owner = ownerOf(records.containers.list(), name);
      return owner === undefined ? [] : [containerLock(owner.name)];
    }
    case 'volumeSnapshots': {
      const owner = ownerOf(records.volumes.list(), name);
      return owner === undefined ? [] : volumeLocks(records, volumeIdOf(owner.name));
    }
    case 'profiles':
    case 'aliases':
    case 'certificates':
    case 'projects':
    case 'server':
    case 'members':
    case 'cluster':
    case 'memberConfig':
    case 'clusterKeys':
    case 'joinTokens':
    case 'memberGroups':
    case 'poolDefinitions':
    case 'networkDefinitions':
    case 'warnings':
    case 'sagas':
      return [];
    default:
      return assertNever(kind);
  }
}

/** A volume changes while none of its users starts. */
function volumeLocks(records: Records, volume: VolumeId): readonly string[] {
  return [volumeLock(volume), ...containersUsing(records, volume).map((user) => containerLock(user))];
}
