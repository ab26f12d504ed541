// Every saga of the daemon by kind: those that can run, and those that recovery must know after a crash.
import type { Saga } from '../../operations/saga.ts';
import type { SagaKind } from '../../records/saga-params.ts';
import { createBackupSaga } from '../../services/transfer/backups/sagas/backup-create.ts';
import { arriveContainerSaga } from '../../services/cluster/moves/sagas/container-arrive.ts';
import { leaveContainerSaga } from '../../services/cluster/moves/sagas/container-leave.ts';
import { createContainerSaga } from '../../services/containers/create/container-create.ts';
import { deleteContainerSaga } from '../../services/containers/remove/container-delete.ts';
import { dropCheckpointSaga } from '../../services/containers/power/container-drop-state.ts';
import { moveContainerSaga } from '../../services/containers/move/container-move.ts';
import { receiveContainerSaga } from '../../services/transfer/migration/sagas/container-receive.ts';
import { refreshContainerSaga } from '../../services/transfer/migration/sagas/container-refresh.ts';
import { renameContainerSaga } from '../../services/containers/move/container-rename.ts';
import { storeCheckpointSaga } from '../../services/containers/power/container-store-state.ts';
import { addImageSaga } from '../../services/images/sagas/image-add.ts';
import { deleteImageSaga } from '../../services/images/sagas/image-delete.ts';
import { createNetworkSaga } from '../../services/networks/sagas/network-create.ts';
import { deleteNetworkSaga } from '../../services/networks/sagas/network-delete.ts';
import { renameNetworkSaga } from '../../services/networks/sagas/network-rename.ts';
import { createPoolSaga } from '../../services/storage/sagas/pool-create.ts';
import { deletePoolSaga } from '../../services/storage/sagas/pool-delete.ts';
import { renameProfileSaga } from '../../services/profiles/sagas/profile-rename.ts';
import { renameProjectSaga } from '../../services/projects/sagas/project-rename.ts';
import { createSnapshotSaga } from '../../services/containers/snapshots/snapshot-create.ts';
import { deleteSnapshotSaga } from '../../services/containers/snapshots/snapshot-delete.ts';
import { renameSnapshotSaga } from '../../services/containers/snapshots/snapshot-rename.ts';
import { restoreSnapshotSaga } from '../../services/containers/snapshots/snapshot-restore.ts';
import { createVolumeSaga } from '../../services/storage/sagas/volume-create.ts';
import { deleteVolumeSaga } from '../../services/storage/sagas/volume-delete.ts';
import { moveVolumeSaga } from '../../services/storage/sagas/volume-move.ts';
import { receiveVolumeSaga } from '../../services/transfer/migration/sagas/volume-receive.ts';
import { refreshVolumeSaga } from '../../services/transfer/migration/sagas/volume-refresh.ts';
import { renameVolumeSaga } from '../../services/storage/sagas/volume-rename.ts';
import { restoreVolumeSaga } from '../../services/storage/sagas/volume-restore.ts';
import { createVolumeSnapshotSaga } from '../../services/storage/sagas/volume-snapshot-create.ts';
import { deleteVolumeSnapshotSaga } from '../../services/storage/sagas/volume-snapshot-delete.ts';
import { renameVolumeSnapshotSaga } from '../../services/storage/sagas/volume-snapshot-rename.ts';
import type { ContainerDeps } from '../../services/containers/deps.ts';
import type { ImageUsers } from '../../services/images/image-users.ts';

export interface SagaDeps extends Pick<
  ContainerDeps,
  'records' | 'runtime' | 'network' | 'pools' | 'view' | 'idMaps' | 'clock' | 'log' | 'backupsDir' | 'logsDir'
> {
  readonly users: ImageUsers;
  readonly imagesDir: string;
}

/** Recovery has no client input: a saga that needs it is undone. */
export const sagaTable = (deps: SagaDeps) =>
  ({
    'backup-create': createBackupSaga({ ...deps, dir: deps.backupsDir }),
    'container-arrive': arriveContainerSaga(deps),
    'container-create': createContainerSaga(deps),
    'container-delete': deleteContainerSaga(deps),
    'container-drop-state': dropCheckpointSaga(deps),
    'container-leave': leaveContainerSaga(deps),
    'container-move': moveContainerSaga(deps),
    'container-receive': receiveContainerSaga(deps),
    'container-refresh': refreshContainerSaga(deps),
    'container-rename': renameContainerSaga(deps),
    'container-store-state': storeCheckpointSaga(deps, true),
    'image-add': addImageSaga({ ...deps, dir: deps.imagesDir }),
    'image-delete': deleteImageSaga({ ...deps, dir: deps.imagesDir }),
    'network-create': createNetworkSaga(deps),
    'network-delete': deleteNetworkSaga(deps),
    'network-rename': renameNetworkSaga(deps),
    'pool-create': createPoolSaga(deps),
    'pool-delete': deletePoolSaga(deps),
    'profile-rename': renameProfileSaga(deps),
    'project-rename': renameProjectSaga(deps),
    'snapshot-create': createSnapshotSaga(deps),
    'snapshot-delete': deleteSnapshotSaga(deps),
    'snapshot-rename': renameSnapshotSaga(deps),
    'snapshot-restore': restoreSnapshotSaga(deps),
    'volume-create': createVolumeSaga(deps),
    'volume-delete': deleteVolumeSaga(deps),
    'volume-move': moveVolumeSaga(deps),
    'volume-receive': receiveVolumeSaga(deps),
    'volume-refresh': refreshVolumeSaga(deps),
    'volume-rename': renameVolumeSaga(deps),
    'volume-restore': restoreVolumeSaga(deps),
    'volume-snapshot-create': createVolumeSnapshotSaga(deps),
    'volume-snapshot-delete': deleteVolumeSnapshotSaga(deps),
    'volume-snapshot-rename': renameVolumeSnapshotSaga(deps),
  }) satisfies { readonly [K in SagaKind]: Saga<never> };
