// The saga that restores the content, config and devices of a container's snapshot.
import { readySnapshot, type SnapshotParams, type SnapshotSagaDeps, snapshotCheckpointDir } from './snapshot-files.ts';
import type { RestorePlan } from '../../limits/planned.ts';
import type { Changes } from '../../../records/records.ts';
import type { Saga } from '../../../operations/saga.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { requirePlaces, requireProfiles } from '../shared/draft.ts';
import { snapshotKey } from '../shared/snapshot-records.ts';
import { removeCheckpoint } from '../shared/checkpoint.ts';
import { expand } from '../../shared/expand.ts';
import { newContainerVolume } from '../../storage/volume-shapes.ts';
import { limitNewRoot } from '../../storage/root-size.ts';
import { profilesOf } from '../../shared/project-scope.ts';

/** Finished after a crash: from the first step on the old content may be gone. */
export function restoreSnapshotSaga(deps: SnapshotSagaDeps): Saga<SnapshotParams & RestorePlan> {
  const putDocument = (changes: Changes, { container, document }: SnapshotParams & RestorePlan): void => {
    if (deps.records.containers.has(container)) changes.put('containers', container, document);
  };
  return {
    kind: 'snapshot-restore',
    onRestart: 'finish',
    begin(changes, { container, uuid, snapshot, document }) {
      readyContainer(deps.records, container);
      requireProfiles(deps.records, changes, container, document);
      requirePlaces(deps.records, changes, container, document);
      readySnapshot(deps, container, uuid, snapshot);
      changes.require('containers', container);
      changes.require('snapshots', snapshotKey(uuid, snapshot));
    },
    steps: [
      {
        name: 'volume',
        async execute({ pool, container, snapshot, document }, context) {
          const { driver, pool: spec } = deps.pools.use(pool);
          const volume = newContainerVolume(deps.records, container, document);
          await driver.restoreSnapshot(spec, { volume, snapshot }, context.signal);
        },
        // Atomic in the driver: a failure leaves the old content.
      },
      {
        name: 'state',
        async execute(params) {
          if (!params.document.stateful) await removeCheckpoint(snapshotCheckpointDir(deps, params));
        },
      },
      {
        name: 'size',
        async execute({ pool, container, document }) {
          const { devices } = expand(document, profilesOf(deps.records, container));
          await limitNewRoot(deps.pools, pool, container, devices);
        },
      },
    ],
    commit: putDocument,
    // What fails after the content is back must not leave the config of the content before.
    rollBack(changes, params, stepsDone) {
      if (stepsDone > 0) putDocument(changes, params);
    },
  };
}
