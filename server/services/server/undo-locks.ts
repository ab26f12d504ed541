// The locks under which others change a record: whoever undoes a failed change later takes them.
import { assertNever } from '../../lib/shared/assert-never.ts';
import type { RecordName } from '../../operations/pending-undos.ts';
import type { Records } from '../../records/records.ts';
import { lockOf as containerLock } from '../containers/find.ts';
import { imageFilesLock, imageLock } from '../images/image-deps.ts';
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
      return volumeLocks(records, name);
    case 'snapshots':
    case 'backups':
      return ownerOf(records.containers.list(), name).map((owner) => containerLock(owner));
    case 'volumeSnapshots':
      return ownerOf(records.volumes.list(), name).flatMap((owner) => volumeLocks(records, owner));
    case 'profiles':
    case 'aliases':
    case 'certificates':
    case 'projects':
    case 'server':
    case 'members':
    case 'cluster':
    case 'memberConfig':
    case 'joinTokens':
    case 'memberGroups':
    case 'poolDefinitions':
    case 'networkDefinitions':
    case 'sagas':
      return [];
    default:
      return assertNever(kind);
  }
}

/** A volume changes while none of its users starts. `key`: `<pool>/<name>`. */
function volumeLocks(records: Records, key: string): readonly string[] {
  const slash = key.indexOf('/');
  const volume = { pool: key.slice(0, slash), name: key.slice(slash + 1) };
  return [volumeLock(volume), ...containersUsing(records, volume).map((user) => containerLock(user))];
}

/** Snapshots and backups are stored under the uuid of what they belong to. */
function ownerOf(
  owners: readonly { readonly name: string; readonly document: { readonly uuid: string } }[],
  key: string,
): readonly string[] {
  const uuid = key.slice(0, key.indexOf('/'));
  return owners.filter(({ document }) => document.uuid === uuid).map(({ name }) => name);
}
