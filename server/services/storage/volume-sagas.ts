// The host changes behind custom volumes, each as a saga: made or not at all, deleted to the end, renamed, moved, put back.
import { parseBytes } from '../../api/text/byte-size.ts';
import { errors } from '../../api/errors.ts';
import type { SnapshotSource, VolumeRef, VolumeSource } from '../../drivers/storage/driver.ts';
import type { Saga } from '../../operations/saga.ts';
import type { VolumeDocument } from '../../records/documents.ts';
import type { Changes, Records } from '../../records/records.ts';
import { dropOwned, ownedKey, putOwned, type Owned } from '../owned-records.ts';
import type { Pools } from './pools.ts';
import { moveUsers, volumeKey, volumeUsers, type VolumeId } from './volume-users.ts';

export interface VolumeSagaDeps {
  readonly records: Records;
  readonly pools: Pools;
}

export type VolumeSnapshots = readonly Owned<'volumeSnapshots'>[];

export interface CreateVolumeParams {
  readonly volume: VolumeId;
  readonly document: VolumeDocument;
  readonly source: VolumeSource;
  readonly copied?: { readonly from: VolumeId; readonly snapshots: VolumeSnapshots };
}

export const refOf = (name: string): VolumeRef => ({ type: 'custom', name });
const nothing = (): Promise<void> => Promise.resolve();

export function readyVolume(records: Records, volume: VolumeId): VolumeDocument {
  const document = records.volumes.get(volumeKey(volume))?.document;
  if (document === undefined) throw errors.notFound('storage volume', volumeKey(volume));
  if (document.lifecycle !== 'ready') throw errors.badRequest(`The storage volume ${volumeKey(volume)} is busy`);
  return document;
}

function requirePool(records: Records, changes: Changes, pool: string): void {
  if (records.pools.get(pool)?.document.lifecycle !== 'ready') throw errors.notFound('storage pool', pool);
  changes.require('pools', pool);
}

export function createVolumeSaga(deps: VolumeSagaDeps): Saga<CreateVolumeParams> {
  return {
    kind: 'volume-create',
    onRestart: 'unwind',
    begin(changes, { volume, document }) {
      const key = volumeKey(volume);
      if (deps.records.volumes.has(key)) throw errors.exists('storage volume', key);
      requirePool(deps.records, changes, volume.pool);
      changes.put('volumes', key, { ...document, lifecycle: 'creating' });
    },
    steps: [
      {
        name: 'place',
        execute: ({ volume }) => deps.pools.refuseVolume(volume.pool, refOf(volume.name)),
        undo: nothing,
      },
      {
        name: 'volume',
        execute: ({ volume, source }, context) =>
          deps.pools.createVolume(volume.pool, refOf(volume.name), source, () => {}, context.signal),
        undo: ({ volume }) => deps.pools.deleteVolume(volume.pool, refOf(volume.name)),
      },
      {
        name: 'size',
        execute: ({ volume, document }) => limitVolume(deps.pools, volume, document.config, { mustHold: true }),
        undo: nothing,
      },
      {
        name: 'snapshots',
        async execute({ volume, document, copied }, context) {
          if (copied === undefined) return;
          await copyFiles(deps.pools, copied.from, volume, copied.snapshots, context.signal);
          await putOwned(deps.records, 'volumeSnapshots', document.uuid, copied.snapshots);
        },
        // Their files go with the volume.
        undo: ({ document }) => dropOwned(deps.records, 'volumeSnapshots', document.uuid),
      },
    ],
    commit: (changes, { volume, document }) => changes.put('volumes', volumeKey(volume), document),
    rollBack(changes, { volume }) {
      if (deps.records.volumes.has(volumeKey(volume))) changes.delete('volumes', volumeKey(volume));
    },
  };
}

/** Undefined: no limit. */
export const volumeSize = (config: VolumeDocument['config']): number | undefined =>
  parseBytes(config['size'] ?? '') || undefined;

/** Where the pool cannot limit, the config has no size. */
export async function limitVolume(
  pools: Pools,
  { pool, name }: VolumeId,
  config: VolumeDocument['config'],
  how: { readonly mustHold?: boolean } = {},
): Promise<void> {
  const { driver, pool: spec } = pools.use(pool);
  if (driver.capabilities.quotas) await driver.limitVolume(spec, refOf(name), volumeSize(config), how);
}

/** Snapshots that are there already are left: running twice is like once. */
async function copyFiles(
  pools: Pools,
  from: VolumeId,
  to: VolumeId,
  snapshots: VolumeSnapshots,
  signal: AbortSignal,
): Promise<void> {
  for (const { name } of snapshots) {
    const source = pools.copySource(from.pool, refOf(from.name), name, to.pool);
    const snapshotSource: SnapshotSource =
      source.kind === 'tree' ? source : { kind: 'copy', from: { volume: refOf(from.name), snapshot: name } };
    await pools.createSnapshot(to.pool, { volume: refOf(to.name), snapshot: name }, snapshotSource, signal);
  }
}

export function deleteVolumeSaga(deps: VolumeSagaDeps): Saga<VolumeId> {
  return {
    kind: 'volume-delete',
    onRestart: 'finish',
    begin(changes, volume) {
      const document = readyVolume(deps.records, volume);
      const users = volumeUsers(deps.records, volume);
      if (users.length > 0) throw errors.inUse('storage volume', volumeKey(volume), users);
      changes.put('volumes', volumeKey(volume), { ...document, lifecycle: 'deleting' });
    },
    steps: [
      { name: 'volume', execute: ({ pool, name }) => deps.pools.deleteVolume(pool, refOf(name)), undo: nothing },
      {
        name: 'snapshots',
        async execute(volume) {
          const uuid = deps.records.volumes.get(volumeKey(volume))?.document.uuid;
          if (uuid !== undefined) await dropOwned(deps.records, 'volumeSnapshots', uuid);
        },
        undo: nothing,
      },
    ],
    commit(changes, volume) {
      if (deps.records.volumes.has(volumeKey(volume))) changes.delete('volumes', volumeKey(volume));
    },
    rollBack(changes, volume) {
      const entry = deps.records.volumes.get(volumeKey(volume));
      if (entry !== undefined) changes.put('volumes', entry.name, { ...entry.document, lifecycle: 'ready' });
    },
  };
}

export interface MoveParams {
  readonly from: VolumeId;
  readonly to: VolumeId;
}

export function renameVolumeSaga(deps: VolumeSagaDeps): Saga<MoveParams> {
  return {
    kind: 'volume-rename',
    onRestart: 'unwind',
    begin: (changes, params) => beginMove(deps.records, changes, params),
    steps: [
      {
        name: 'volume',
        execute: ({ from, to }) => deps.pools.renameVolume(from.pool, refOf(from.name), to.name),
        undo: ({ from, to }) => deps.pools.renameVolume(from.pool, refOf(to.name), from.name),
      },
    ],
    commit: (changes, params) => commitMove(deps.records, changes, params),
    rollBack: () => {},
  };
}

function beginMove(records: Records, changes: Changes, { from, to }: MoveParams): void {
  readyVolume(records, from);
  if (records.volumes.has(volumeKey(to))) throw errors.exists('storage volume', volumeKey(to));
  requirePool(records, changes, to.pool);
  changes.require('volumes', volumeKey(from));
  changes.require('volumes', volumeKey(to));
}

function commitMove(records: Records, changes: Changes, { from, to }: MoveParams): void {
  const entry = records.volumes.get(volumeKey(from));
  if (entry === undefined) return;
  changes.delete('volumes', volumeKey(from));
  changes.put('volumes', volumeKey(to), entry.document);
  moveUsers(changes, records, from, to);
}

export type MoveToPoolParams = MoveParams & { readonly snapshots: VolumeSnapshots };

/** Into another pool: the copy is whole before the original goes, and once it has gone only forwards is possible. */
export function moveVolumeSaga(deps: VolumeSagaDeps): Saga<MoveToPoolParams> {
  const has = ({ pool, name }: VolumeId): Promise<boolean> => {
    const { driver, pool: spec } = deps.pools.use(pool);
    return driver.hasVolume(spec, refOf(name));
  };
  return {
    kind: 'volume-move',
    onRestart: 'finish',
    begin: (changes, params) => beginMove(deps.records, changes, params),
    steps: [
      {
        name: 'copy',
        async execute({ from, to, snapshots }, context) {
          if (!(await has(from))) return;
          const source = deps.pools.copySource(from.pool, refOf(from.name), undefined, to.pool);
          await deps.pools.createVolume(to.pool, refOf(to.name), source, () => {}, context.signal);
          await limitVolume(deps.pools, to, readyVolume(deps.records, from).config);
          await copyFiles(deps.pools, from, to, snapshots, context.signal);
        },
        async undo({ from, to }) {
          if (!(await has(from))) throw new Error(`${volumeKey(from)} has moved to ${volumeKey(to)} already`);
          await deps.pools.deleteVolume(to.pool, refOf(to.name));
        },
      },
      { name: 'original', execute: ({ from }) => deps.pools.deleteVolume(from.pool, refOf(from.name)), undo: nothing },
    ],
    commit: (changes, params) => commitMove(deps.records, changes, params),
    rollBack: () => {},
  };
}

export interface VolumeSnapshotParams {
  readonly volume: VolumeId;
  readonly uuid: string;
  readonly snapshot: string;
}

export function readyVolumeSnapshot(records: Records, { volume, uuid, snapshot }: VolumeSnapshotParams) {
  const entry = records.volumeSnapshots.get(ownedKey(uuid, snapshot));
  const label = `${volumeKey(volume)}/${snapshot}`;
  if (entry === undefined) throw errors.notFound('snapshot', label);
  if (entry.document.lifecycle !== 'ready') throw errors.badRequest(`The snapshot ${label} is busy`);
  return entry;
}

/** Finished after a crash: from the first step on the old content may be gone. */
export function restoreVolumeSaga(deps: VolumeSagaDeps): Saga<VolumeSnapshotParams> {
  return {
    kind: 'volume-restore',
    onRestart: 'finish',
    begin(changes, params) {
      readyVolume(deps.records, params.volume);
      readyVolumeSnapshot(deps.records, params);
      changes.require('volumes', volumeKey(params.volume));
      changes.require('volumeSnapshots', ownedKey(params.uuid, params.snapshot));
    },
    steps: [
      {
        name: 'volume',
        async execute({ volume, snapshot }, context) {
          const { driver, pool } = deps.pools.use(volume.pool);
          await driver.restoreSnapshot(pool, { volume: refOf(volume.name), snapshot }, context.signal);
        },
        undo: nothing,
      },
      {
        name: 'size',
        async execute({ volume }) {
          await limitVolume(deps.pools, volume, readyVolume(deps.records, volume).config);
        },
        undo: nothing,
      },
    ],
    commit: () => {},
    rollBack: () => {},
  };
}
