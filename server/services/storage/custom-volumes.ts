// Custom volumes for sagas and use cases: finds ready ones, limits their size.
import { isTrue } from '../../api/text/value-checks.ts';
import { parseBytes } from '../../api/text/byte-size.ts';
import { errors, mustFind } from '../../api/errors.ts';
import type { LimitForm, VolumeRef } from '../../drivers/storage/driver.ts';
import type { VolumeDocument } from '../../records/documents.ts';
import type { Changes, Records } from '../../records/records.ts';
import { type VolumeId, ownedKey, volumeIdOf, volumeKey } from '../../records/record-names.ts';
import { ownedBy, type OwnedRecord } from '../shared/owned-records.ts';
import type { Pools } from './pools.ts';

export interface VolumeSagaDeps {
  readonly records: Records;
  readonly pools: Pools;
}

export type VolumeSnapshots = readonly OwnedRecord<'volumeSnapshots'>[];

export const refOf = (name: string): VolumeRef => ({ type: 'custom', name });
export function readyVolume(records: Records, volume: VolumeId): VolumeDocument {
  const document = mustFind(records.volumes.get(volumeKey(volume))?.document, 'storage volume', volumeKey(volume));
  if (document.lifecycle !== 'ready') throw errors.badRequest(`The storage volume ${volumeKey(volume)} is busy`);
  return document;
}

export function requirePool(records: Records, changes: Changes, pool: string): void {
  if (records.pools.get(pool)?.document.lifecycle !== 'ready') throw errors.notFound('storage pool', pool);
  changes.require('pools', pool);
}

/** Undefined: no limit. */
export const volumeSize = (config: VolumeDocument['config']): number | undefined =>
  parseBytes(config['size'] ?? '') || undefined;

export function limitForm(config: VolumeDocument['config']): LimitForm {
  const value = config['zfs.use_refquota'] ?? '';
  return value === '' ? {} : { withoutSnapshots: isTrue(value) };
}

/** Applies the config to the volume: its size, and mount options. A size has no effect in a pool that cannot limit. */
export async function limitVolume(
  pools: Pools,
  { pool, name }: VolumeId,
  config: VolumeDocument['config'],
  how: LimitForm = {},
): Promise<void> {
  const { driver, pool: spec } = pools.use(pool);
  await driver.useMountOptions?.(spec, refOf(name), config['block.mount_options']);
  if (pools.canLimit(pool))
    await driver.limitVolume(spec, refOf(name), volumeSize(config), { ...how, ...limitForm(config) });
}

export interface VolumeSnapshotParams {
  readonly volume: VolumeId;
  readonly uuid: string;
  readonly snapshot: string;
}

/** The place of the volume now, which may have changed before a failed undo is tried again. Undefined: it is deleted, with its snapshots. */
export function volumeNow(records: Records, { uuid }: VolumeSnapshotParams): VolumeId | undefined {
  const owner = records.volumes.list().find(({ document }) => document.uuid === uuid);
  return owner === undefined ? undefined : volumeIdOf(owner.name);
}

export function readyVolumeSnapshot(records: Records, { volume, uuid, snapshot }: VolumeSnapshotParams) {
  const entry = records.volumeSnapshots.get(ownedKey(uuid, snapshot));
  const label = `${volumeKey(volume)}/${snapshot}`;
  if (entry === undefined) throw errors.notFound('snapshot', label);
  if (entry.document.lifecycle !== 'ready') throw errors.badRequest(`The snapshot ${label} is busy`);
  return entry;
}

/** Oldest first. */
export const readyVolumeSnapshots = (records: Records, uuid: string): VolumeSnapshots =>
  ownedBy(records, 'volumeSnapshots', uuid)
    .filter(({ document }) => document.lifecycle === 'ready')
    .toSorted((a, b) => Date.parse(a.document.createdAt) - Date.parse(b.document.createdAt));

export const volumeSnapshotKey = ({ uuid, snapshot }: VolumeSnapshotParams): string => ownedKey(uuid, snapshot);
