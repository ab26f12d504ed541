// The saga that renames a custom volume in its pool, or moves it to another project; updates devices of containers and profiles of its
// project.
import { moveUsers, usersLeftBehind } from '../volume-users.ts';
import { refOf, type VolumeSagaDeps, readyVolume, requirePool } from '../custom-volumes.ts';
import type { Saga } from '../../../operations/saga.ts';
import type { Records, Changes } from '../../../records/records.ts';
import { type VolumeId, volumeKey } from '../../../records/record-names.ts';
import { requireProject } from '../../shared/project-scope.ts';
import { projectOf } from '../../../api/project/project-names.ts';
import type { VolumeMovePlan } from '../../limits/planned.ts';
import { makeReady, removeRecord } from '../../shared/saga-records.ts';
import { errors } from '../../../api/errors.ts';

export type MoveParams = VolumeMovePlan;

export function renameVolumeSaga(deps: VolumeSagaDeps): Saga<MoveParams> {
  return {
    kind: 'volume-rename',
    onRestart: 'unwind',
    begin: (changes, params) => beginMove(deps.records, changes, params),
    steps: [
      {
        name: 'volume',
        execute: ({ from, to }) => deps.pools.renameVolume(from.pool, refOf(from.name), to.name),
        undo: ({ from, to }) => deps.pools.renameVolumeBack(from.pool, refOf(from.name), to.name),
      },
    ],
    commit: (changes, params) => commitMove(deps.records, changes, params),
    rollBack: (changes, params) => endMove(deps.records, changes, params),
  };
}

export function beginMove(records: Records, changes: Changes, { from, to }: MoveParams): void {
  const document = readyVolume(records, from);
  if (records.volumes.has(volumeKey(to))) throw errors.exists('storage volume', volumeKey(to));
  refuseLeavingUsers(records, from, to);
  requirePool(records, changes, to.pool);
  requireProject(records, changes, to.name);
  changes.require('volumes', volumeKey(from));
  changes.require('volumes', volumeKey(to));
  if (!isLeaving({ from, to })) return;
  changes.put('volumes', volumeKey(from), { ...document, lifecycle: 'deleting' });
  changes.put('volumes', volumeKey(to), { ...document, lifecycle: 'creating' });
}

/** A volume that leaves its project must not get new users, which could not follow; and the other project must stay. */
const isLeaving = ({ from, to }: MoveParams): boolean => projectOf(from.name) !== projectOf(to.name);

/** The volume stays where it is. */
export function endMove(records: Records, changes: Changes, params: MoveParams): void {
  if (!isLeaving(params)) return;
  makeReady(records, changes, 'volumes', volumeKey(params.from));
  removeRecord(records, changes, 'volumes', volumeKey(params.to));
}

export function commitMove(records: Records, changes: Changes, { from, to }: MoveParams): void {
  const entry = records.volumes.get(volumeKey(from));
  if (entry === undefined) return;
  changes.delete('volumes', volumeKey(from));
  changes.put('volumes', volumeKey(to), { ...entry.document, lifecycle: 'ready' });
  moveUsers(changes, records, from, to);
}

/** Users in a project cannot follow a volume out of it, nor can profiles of other projects. */
export function refuseLeavingUsers(records: Records, from: VolumeId, to: VolumeId): void {
  const left = usersLeftBehind(records, from, to);
  if (left.length > 0) throw errors.inUse('storage volume', volumeKey(from), left);
}
