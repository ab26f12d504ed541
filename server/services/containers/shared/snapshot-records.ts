// Where the records of a container's snapshots are: under the container's uuid.
import type { Records } from '../../../records/records.ts';
import { ownedKey } from '../../../records/record-names.ts';
import { dropOwned, ownedBy, putOwned, type OwnedRecord } from '../../shared/owned-records.ts';

export type SnapshotEntry = OwnedRecord<'snapshots'>;

export const snapshotKey = ownedKey;

/** In order of name. */
export const snapshotsOf = (records: Records, uuid: string): readonly SnapshotEntry[] =>
  ownedBy(records, 'snapshots', uuid);

/** The oldest first. */
export const byAge = (a: SnapshotEntry, b: SnapshotEntry): number =>
  Date.parse(a.document.createdAt) - Date.parse(b.document.createdAt) || (a.name < b.name ? -1 : 1);

export const putSnapshots = (records: Records, uuid: string, snapshots: readonly SnapshotEntry[]): Promise<void> =>
  putOwned(records, 'snapshots', uuid, snapshots);

/** Idempotent. */
export const dropSnapshots = (records: Records, uuid: string): Promise<void> => dropOwned(records, 'snapshots', uuid);
