// The saga that moves a stopped container into another pool of this server, and perhaps renames it.
import type { VolumeRef } from '../../../drivers/storage/driver.ts';
import type { ContainerDeps } from '../deps.ts';
import type { Saga } from '../../../operations/saga.ts';
import { errors } from '../../../api/errors.ts';
import { copyVolumeSource, copySnapshotFiles } from '../create/copy.ts';
import { expand } from '../../shared/expand.ts';
import { newContainerVolume } from '../../storage/volume-shapes.ts';
import { limitNewRoot } from '../../storage/root-size.ts';
import { renamedInstance } from '../shared/instance-id.ts';
import { moveLogs, moveLogsBack } from '../shared/move-logs.ts';
import type { SnapshotDocument } from '../../../records/documents.ts';
import type { Records, Changes } from '../../../records/records.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { requirePlaces, requireProfiles, withRootIn } from '../shared/draft.ts';
import { projectOf } from '../../../api/project/project-names.ts';
import { snapshotsOf, snapshotKey } from '../shared/snapshot-records.ts';
import type { ContainerMovePlan } from '../../limits/planned.ts';
import { profilesOf, requireProject } from '../../shared/project-scope.ts';

export interface ContainerLocation {
  readonly name: string;
  readonly pool: string;
}

export interface MoveParams extends ContainerMovePlan {
  readonly from: ContainerLocation;
  readonly to: ContainerLocation;
  /** Snapshots that move along; others are deleted with the original. */
  readonly snapshots: readonly string[];
  /** Identity for cloud-init under another name. */
  readonly instanceId?: string;
}

export const volumeOf = ({ name }: ContainerLocation): VolumeRef => ({ type: 'container', name });

/** The copy is complete before the deletion of the original begins; after that, recovery can only go forward. */
export function moveContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools' | 'runtime' | 'logsDir'>,
): Saga<MoveParams> {
  const { records, pools } = deps;
  const hasLeft = ({ from, to, snapshots }: MoveParams): Promise<boolean> =>
    pools.hasLeft([from.pool, volumeOf(from)], [to.pool, volumeOf(to)], snapshots);
  return {
    kind: 'container-move',
    onRestart: 'finish',
    begin(changes, { from, to }) {
      if (to.name !== from.name && records.isContainerName(to.name)) throw errors.exists('container', to.name);
      if (records.pools.get(to.pool)?.document.lifecycle !== 'ready') throw errors.notFound('storage pool', to.pool);
      for (const pool of [from.pool, to.pool]) changes.require('pools', pool);
      for (const name of new Set([from.name, to.name])) changes.require('containers', name);
      requireArrival(records, changes, from, to);
    },
    steps: [
      {
        name: 'copy',
        async execute(params, { signal }) {
          if (await hasLeft(params)) return;
          const { from, to, snapshots } = params;
          const source = { container: from.name, pool: from.pool };
          const files = copyVolumeSource(pools, source, to.pool);
          const document = moved(records, from, to);
          await pools.createVolume(to.pool, newContainerVolume(records, to.name, document), files, () => {}, signal);
          const { devices } = expand(document, profilesOf(records, to.name));
          await limitNewRoot(pools, to.pool, to.name, devices);
          const moving = snapshotsOf(records, document.uuid).filter(({ name }) => snapshots.includes(name));
          await copySnapshotFiles(deps, source, to, moving, signal);
        },
        async undo(params) {
          const { from, to } = params;
          if (await hasLeft(params))
            throw new Error(`The container ${from.name} has moved to the pool ${to.pool} already`);
          await pools.deleteVolume(to.pool, volumeOf(to));
        },
      },
      { name: 'runtime', execute: ({ from }) => deps.runtime.forget(from.name) },
      {
        name: 'logs',
        execute: ({ from, to }) => moveLogs(deps.logsDir, from.name, to.name),
        undo: ({ from, to }) => moveLogsBack(deps.logsDir, from.name, to.name),
      },
      { name: 'original', execute: ({ from }) => pools.deleteVolume(from.pool, volumeOf(from)) },
    ],
    commit(changes, params) {
      if (records.containers.has(params.from.name)) commitMove(records, changes, params);
    },
  };
}

/** The container's record at the target, with the profiles of the target project. */
export function moved(records: Records, from: Pick<ContainerLocation, 'name'>, to: ContainerLocation) {
  const { document } = readyContainer(records, from.name);
  return { ...document, pool: to.pool, devices: withRootIn(records, to.name, document, to.pool) };
}

/** Everything that it refers to at the target must exist and stay. */
export function requireArrival(
  records: Records,
  changes: Changes,
  from: ContainerLocation,
  to: ContainerLocation,
): void {
  if (projectOf(from.name) === projectOf(to.name)) return;
  requireProject(records, changes, to.name);
  const document = moved(records, from, to);
  requireProfiles(records, changes, to.name, document);
  requirePlaces(records, changes, to.name, document);
}

export function commitMove(records: Records, changes: Changes, { from, to, snapshots, instanceId }: MoveParams): void {
  const document = renamedInstance(moved(records, from, to), { from: from.name, to: to.name, instanceId });
  if (to.name !== from.name) changes.delete('containers', from.name);
  changes.put('containers', to.name, document);
  for (const one of snapshotsOf(records, document.uuid)) {
    const key = snapshotKey(document.uuid, one.name);
    if (!snapshots.includes(one.name)) changes.delete('snapshots', key);
    else keepSnapshot(records, changes, key, one.document, to);
  }
}

function keepSnapshot(
  records: Records,
  changes: Changes,
  key: string,
  document: SnapshotDocument,
  to: ContainerLocation,
): void {
  const devices = withRootIn(records, to.name, document, to.pool);
  if (devices !== document.devices) changes.put('snapshots', key, { ...document, devices });
}
