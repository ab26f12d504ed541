// The saga that moves a custom volume into another pool, and perhaps into another project.
import { volumeKey } from '../../../records/record-names.ts';
import { beginMove, type MoveParams, commitMove, endMove } from './volume-rename.ts';
import { refOf, type VolumeSnapshots, type VolumeSagaDeps, limitVolume } from '../custom-volumes.ts';
import { copyVolumeSnapshots } from '../copy-volume-snapshots.ts';
import { newCustomVolume } from '../volume-shapes.ts';
import type { Saga } from '../../../operations/saga.ts';

type Params = MoveParams & { readonly snapshots: VolumeSnapshots };

/** The copy is complete before the deletion of the original begins; after that, recovery can only go forward. */
export function moveVolumeSaga(deps: VolumeSagaDeps): Saga<Params> {
  const hasLeft = ({ from, to, snapshots }: Params): Promise<boolean> => {
    const names = snapshots.map(({ name }) => name);
    return deps.pools.hasLeft([from.pool, refOf(from.name)], [to.pool, refOf(to.name)], names);
  };
  return {
    kind: 'volume-move',
    onRestart: 'finish',
    begin: (changes, params) => beginMove(deps.records, changes, params),
    steps: [
      {
        name: 'copy',
        async execute(params, context) {
          if (await hasLeft(params)) return;
          const { from, to, snapshots } = params;
          const source = deps.pools.copySource(from.pool, refOf(from.name), undefined, to.pool);
          const config = deps.records.volumes.get(volumeKey(from))?.document.config ?? {};
          await deps.pools.createVolume(to.pool, newCustomVolume(to.name, config), source, () => {}, context.signal);
          await limitVolume(deps.pools, to, config);
          await copyVolumeSnapshots(deps.pools, from, to, snapshots, context.signal);
        },
        async undo(params) {
          const { from, to } = params;
          if (await hasLeft(params)) throw new Error(`${volumeKey(from)} has moved to ${volumeKey(to)} already`);
          await deps.pools.deleteVolume(to.pool, refOf(to.name));
        },
      },
      { name: 'original', execute: ({ from }) => deps.pools.deleteVolume(from.pool, refOf(from.name)) },
    ],
    commit: (changes, params) => commitMove(deps.records, changes, params),
    rollBack: (changes, params) => endMove(deps.records, changes, params),
  };
}
