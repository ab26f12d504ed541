// Makes a custom volume of an uploaded backup: drafts its record from the backup, then runs a saga.
import { randomUUID } from 'node:crypto';
import { errors, checkName } from '../../../api/errors.ts';
import { never } from '../../../api/schema/common-schemas.ts';
import { snapshotName, volumeName } from '../../../api/names.ts';
import type { Operation } from '../../../api/operation.ts';
import { withPoolDefaults } from '../../../api/storage/storage-config.ts';
import type { OperationHandle } from '../../../operations/running-operation.ts';
import { type VolumeId, volumeKey } from '../../../records/record-names.ts';
import type { Caller } from '../../shared/caller.ts';
import { withoutServerKeys } from '../../shared/expand.ts';
import { volumeIn } from '../../shared/project-scope.ts';
import { customUrl } from '../../shared/volume-urls.ts';
import { volumeSize } from '../../storage/custom-volumes.ts';
import { newCustomVolume, ofCustomSnapshots } from '../../storage/volume-shapes.ts';
import { checkedVolumeConfig, keysIn, volumeLock } from '../../storage/volume-checks.ts';
import { receiveVolumeSaga, type ReceiveVolumeParams } from '../migration/sagas/volume-receive.ts';
import { isUntrustedSource } from '../migration/untrusted-source.ts';
import type { BackupIndex } from './index-yaml.ts';
import { checkSnapshotNames, inspectFiles } from './tarball-reader.ts';
import type { RestoreDeps } from './restore.ts';
import { unpackBackup } from './unpack-backup.ts';
import { allowsHostAccess, checkForm, takeUpload, type BackupUpload } from './uploaded.ts';
import type { SavedVolume } from './volume-index.ts';

/** Takes over the uploaded file. `pool`: the request's, whatever the backup says. */
export function restoreVolumeBackup(
  deps: RestoreDeps,
  caller: Caller,
  pool: string,
  upload: BackupUpload,
  signal: AbortSignal,
): Promise<Operation> {
  const judge = (index: BackupIndex) => {
    if (index.volume === undefined)
      throw errors.badRequest(
        'The backup is of a container: import it with lxc import, or gantry backup import without the name of a pool',
      );
    const plain = upload.name ?? index.name;
    checkName('storage volume', plain, volumeName);
    const volume: VolumeId = { pool, name: volumeIn(deps.records, caller.project, plain) };
    deps.pools.use(pool);
    if (deps.records.volumes.has(volumeKey(volume))) throw errors.exists('storage volume', volumeKey(volume));
    checkForm(deps.pools, index, pool);
    const params = draft(deps, volume, index, index.volume);
    deps.records.check((changes) => changes.put('volumes', volumeKey(volume), params.document));
    return {
      resources: { storage_volumes: [customUrl(volume)] },
      project: caller.project,
      run: (handle: OperationHandle, aborted: AbortSignal) =>
        restoreNow(deps, caller, { upload, index, params }, handle, aborted),
    };
  };
  return takeUpload(deps, upload, judge, signal);
}

interface Restore {
  readonly upload: BackupUpload;
  readonly index: BackupIndex;
  readonly params: ReceiveVolumeParams;
}

async function restoreNow(
  deps: RestoreDeps,
  caller: Caller,
  { upload, index, params }: Restore,
  handle: OperationHandle,
  signal: AbortSignal,
): Promise<void> {
  const { volume, document, snapshots } = params;
  const room = await deps.pools.room(volume.pool);
  await inspectFiles(upload.path, index, { ...room, partBytes: volumeSize(document.config) }, signal);
  const keepNodes = allowsHostAccess(deps.records, upload) && !isUntrustedSource(deps.records, caller, volume.name);
  const ref = newCustomVolume(volume.name, document.config);
  const plan = { ofSnapshot: ofCustomSnapshots(ref, snapshots), index, keepNodes };
  const progress = (part: string): void => handle.update({ restore_backup_progress: part });
  const saga = receiveVolumeSaga(
    deps,
    (_params, context) => unpackBackup(upload.path, deps.pools.use(volume.pool), plan, progress, context.signal),
    true,
  );
  await deps.locks.run(volumeLock(volume), () => deps.sagas.run(saga, params, { signal }));
  deps.events.lifecycle('storage-volume-created', customUrl(volume), caller);
}

/** Throws AppError badRequest with all problems. */
function draft(deps: RestoreDeps, volume: VolumeId, index: BackupIndex, saved: SavedVolume): ReceiveVolumeParams {
  checkSnapshotNames(index, saved.snapshots);
  const { pool } = deps.pools.use(volume.pool);
  // The backup may be from another driver's pool, and its keys cannot be edited.
  const own = (config: SavedVolume['config']): Record<string, string> =>
    keysIn(deps.pools, volume.pool, withoutServerKeys(config));
  const sent = checkedVolumeConfig(deps.pools, volume.pool, own(saved.config));
  const now = deps.clock.timestamp();
  return {
    volume,
    document: {
      v: 1,
      uuid: randomUUID(),
      description: saved.description,
      config: withPoolDefaults(pool.config, sent),
      createdAt: now,
      lifecycle: 'ready',
    },
    snapshots: index.snapshots.map((snapshot) => {
      checkName('snapshot', snapshot, snapshotName);
      const before = saved.snapshots.find((one) => one.name === snapshot);
      const { description = '', config = {}, createdAt = now, expiresAt = never.expires } = before ?? {};
      return {
        name: snapshot,
        document: { v: 1, description, config: own(config), createdAt, expiresAt, lifecycle: 'ready' },
      };
    }),
  };
}
