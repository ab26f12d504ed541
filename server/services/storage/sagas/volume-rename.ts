// A custom volume gets another name in its pool; devices of containers and profiles follow.
import { volumeKey, type VolumeId, moveUsers } from '../volume-users.ts';
import { refOf, type VolumeSagaDeps, readyVolume, requirePool } from '../custom-volumes.ts';
import type { Saga } from '../../../operations/saga.ts';
import type { Records, Changes } from '../../../records/records.ts';
import { errors } from '../../../api/errors.ts';

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
  };
}

export function beginMove(records: Records, changes: Changes, { from, to }: MoveParams): void {
  readyVolume(records, from);
  if (records.volumes.has(volumeKey(to))) throw errors.exists('storage volume', volumeKey(to));
  requirePool(records, changes, to.pool);
  changes.require('volumes', volumeKey(from));
  changes.require('volumes', volumeKey(to));
}

export function commitMove(records: Records, changes: Changes, { from, to }: MoveParams): void {
  const entry = records.volumes.get(volumeKey(from));
  if (entry === undefined) return;
  changes.delete('volumes', volumeKey(from));
  changes.put('volumes', volumeKey(to), entry.document);
  moveUsers(changes, records, from, to);
}
