// The users of a storage pool, which prevent its deletion, and the snapshots that are deleted with their containers.
import { errors } from '../../api/errors.ts';
import type { Records } from '../../records/records.ts';
import { devicePools } from '../shared/expand.ts';
import { ownedBy } from '../shared/owned-records.ts';
import { othersWith } from '../shared/other-users.ts';
import { containersWith } from '../shared/used-by.ts';
import { containerUrl, profileUrl } from '../../api/project/project-names.ts';
import { customUrl } from '../shared/volume-urls.ts';

export const poolUrl = (name: string): string => `/1.0/storage-pools/${encodeURIComponent(name)}`;

/** URLs of the containers, profiles and custom volumes that need the pool. */
export function poolUsers(records: Records, name: string): readonly string[] {
  return [
    ...containersWith(records, 'pool', name).map((entry) => containerUrl(entry.name)),
    ...othersWith(records, 'pool', name).map((entry) => containerUrl(entry.name)),
    ...records.profiles
      .list()
      .filter(({ document }) => devicePools(document.devices).includes(name))
      .map((entry) => profileUrl(entry.name)),
    ...[...records.volumes.list(), ...records.others.list('volumes')]
      .filter((entry) => entry.name.startsWith(`${name}/`))
      .map((entry) => customUrl({ pool: name, name: entry.name.slice(name.length + 1) })),
  ];
}

export function refuseUsedPool(records: Records, name: string): void {
  const users = poolUsers(records, name);
  if (users.length > 0) throw errors.inUse('storage pool', name, users);
}

export function snapshotsInPool(records: Records, name: string): readonly string[] {
  return records.containers
    .list()
    .filter(({ document }) => document.pool === name)
    .flatMap((entry) =>
      ownedBy(records, 'snapshots', entry.document.uuid).map((one) => containerUrl(entry.name, 'snapshots', one.name)),
    );
}
