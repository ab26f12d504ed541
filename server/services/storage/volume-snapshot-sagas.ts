// The host changes behind snapshots of custom volumes, each as a saga.
import { errors } from '../../api/errors.ts';
import type { Saga } from '../../operations/saga.ts';
import type { VolumeSnapshotDocument } from '../../records/documents.ts';
import { ownedKey } from '../owned-records.ts';
import {
  readyVolume,
  readyVolumeSnapshot,
  refOf,
  type VolumeSagaDeps,
  type VolumeSnapshotParams,
} from './volume-sagas.ts';
import { volumeKey } from './volume-users.ts';

const keyOf = ({ uuid, snapshot }: VolumeSnapshotParams): string => ownedKey(uuid, snapshot);

async function drop(deps: VolumeSagaDeps, { volume, snapshot }: VolumeSnapshotParams): Promise<void> {
  const { driver, pool } = deps.pools.use(volume.pool);
  await driver.deleteSnapshot(pool, { volume: refOf(volume.name), snapshot });
}

export type CreateVolumeSnapshotParams = VolumeSnapshotParams & { readonly document: VolumeSnapshotDocument };

export function createVolumeSnapshotSaga(deps: VolumeSagaDeps): Saga<CreateVolumeSnapshotParams> {
  return {
    kind: 'volume-snapshot-create',
    onRestart: 'unwind',
    begin(changes, params) {
      readyVolume(deps.records, params.volume);
      if (deps.records.volumeSnapshots.has(keyOf(params)))
        throw errors.exists('snapshot', `${volumeKey(params.volume)}/${params.snapshot}`);
      changes.require('volumes', volumeKey(params.volume));
      changes.put('volumeSnapshots', keyOf(params), { ...params.document, lifecycle: 'creating' });
    },
    steps: [
      {
        name: 'place',
        execute: ({ volume, snapshot }) =>
          deps.pools.refuseSnapshot(volume.pool, { volume: refOf(volume.name), snapshot }),
        undo: () => Promise.resolve(),
      },
      {
        name: 'snapshot',
        execute: ({ volume, snapshot }, context) =>
          deps.pools.createSnapshot(
            volume.pool,
            { volume: refOf(volume.name), snapshot },
            { kind: 'now' },
            context.signal,
          ),
        undo: (params) => drop(deps, params),
      },
    ],
    commit: (changes, params) => changes.put('volumeSnapshots', keyOf(params), params.document),
    rollBack(changes, params) {
      if (deps.records.volumeSnapshots.has(keyOf(params))) changes.delete('volumeSnapshots', keyOf(params));
    },
  };
}

export function deleteVolumeSnapshotSaga(deps: VolumeSagaDeps): Saga<VolumeSnapshotParams> {
  return {
    kind: 'volume-snapshot-delete',
    onRestart: 'finish',
    begin(changes, params) {
      const { document } = readyVolumeSnapshot(deps.records, params);
      changes.put('volumeSnapshots', keyOf(params), { ...document, lifecycle: 'deleting' });
    },
    steps: [{ name: 'snapshot', execute: (params) => drop(deps, params), undo: () => Promise.resolve() }],
    commit(changes, params) {
      if (deps.records.volumeSnapshots.has(keyOf(params))) changes.delete('volumeSnapshots', keyOf(params));
    },
    rollBack(changes, params) {
      const entry = deps.records.volumeSnapshots.get(keyOf(params));
      if (entry !== undefined) changes.put('volumeSnapshots', entry.name, { ...entry.document, lifecycle: 'ready' });
    },
  };
}

export type RenameVolumeSnapshotParams = VolumeSnapshotParams & { readonly to: string };

export function renameVolumeSnapshotSaga(deps: VolumeSagaDeps): Saga<RenameVolumeSnapshotParams> {
  const rename = async ({ volume }: VolumeSnapshotParams, from: string, to: string): Promise<void> => {
    const { driver, pool } = deps.pools.use(volume.pool);
    await driver.renameSnapshot(pool, { volume: refOf(volume.name), snapshot: from }, to);
  };
  return {
    kind: 'volume-snapshot-rename',
    onRestart: 'unwind',
    begin(changes, params) {
      readyVolumeSnapshot(deps.records, params);
      const target = ownedKey(params.uuid, params.to);
      if (deps.records.volumeSnapshots.has(target))
        throw errors.exists('snapshot', `${volumeKey(params.volume)}/${params.to}`);
      changes.require('volumeSnapshots', keyOf(params));
      changes.require('volumeSnapshots', target);
    },
    steps: [
      {
        name: 'snapshot',
        execute: (params) => rename(params, params.snapshot, params.to),
        undo: (params) => rename(params, params.to, params.snapshot),
      },
    ],
    commit(changes, params) {
      const { document } = readyVolumeSnapshot(deps.records, params);
      changes.delete('volumeSnapshots', keyOf(params));
      changes.put('volumeSnapshots', ownedKey(params.uuid, params.to), document);
    },
    rollBack: () => {},
  };
}
