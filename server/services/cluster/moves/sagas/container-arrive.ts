// The target of a move between members: a stopped container comes with its snapshots from the member that has it, or stays there.
import { errors } from '../../../../api/errors.ts';
import { plainName } from '../../../../api/project/project-names.ts';
import type { Saga, SagaContext } from '../../../../operations/saga.ts';
import type { ContainerDocument } from '../../../../records/documents.ts';
import type { OtherEntry } from '../../../../records/other-members.ts';
import type { Records } from '../../../../records/records.ts';
import type { ContainerDeps } from '../../../containers/deps.ts';
import { limitNewRoot } from '../../../containers/devices/root-size.ts';
import { requirePlaces, requireProfiles } from '../../../containers/life/draft.ts';
import { dropSnapshots, putSnapshots, type SnapshotEntry } from '../../../containers/snapshots/records.ts';
import { expand } from '../../../expand.ts';
import { profilesOf, requireProject } from '../../../project-scope.ts';

export interface ArriveParams {
  /** As the member that has it recorded it when the move began; any change since then ends the move. */
  readonly from: { readonly name: string; readonly member: number; readonly modRev: number };
  readonly name: string;
  /** What it is here. It has the uuid of the original: it is the same container. */
  readonly document: ContainerDocument;
  readonly snapshots: readonly SnapshotEntry[];
}

/** Fills the volume, snapshots and all; absent at recovery, which has no sender. */
export type TakeFiles = (params: ArriveParams, context: SagaContext) => Promise<void>;

/** Until the last transaction the container is that of the other member, and from then on it is only here. */
export function arriveContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools'>,
  take: TakeFiles = () => Promise.reject(new Error('The member that has the container is not sending any more')),
): Saga<ArriveParams> {
  const { records, pools } = deps;
  const volume = ({ name, document }: ArriveParams) => [document.pool, { type: 'container', name } as const] as const;
  return {
    kind: 'container-arrive',
    onRestart: 'unwind',
    isFenced: true,
    begin(changes, { from, name, document }) {
      originalOf(records, from);
      if (name !== from.name && records.isContainerName(name)) throw errors.exists('container', plainName(name));
      requireProject(records, changes, name);
      requireProfiles(records, changes, name, document);
      requirePlaces(records, changes, name, document);
      changes.require('containers', name);
    },
    steps: [
      { name: 'place', execute: (params) => pools.refuseVolume(...volume(params)) },
      { name: 'volume', execute: take, undo: (params) => pools.deleteVolume(...volume(params)) },
      {
        name: 'size',
        async execute({ name, document }) {
          const { devices } = expand(document, profilesOf(records, name));
          await limitNewRoot(pools, document.pool, name, devices);
        },
      },
      {
        name: 'snapshots',
        execute: ({ document, snapshots }) => putSnapshots(records, document.uuid, snapshots),
        // Their files go with the volume.
        undo: ({ document }) => dropSnapshots(records, document.uuid),
      },
    ],
    commit: (changes, { from, name, document }) =>
      changes.bring('containers', originalOf(records, from), name, document),
  };
}

/** Throws AppError conflict when it is not as it was. */
function originalOf(records: Records, from: ArriveParams['from']): OtherEntry<ContainerDocument> {
  const found = records.others.having('containers', from.name).find(({ member }) => member === from.member);
  if (found?.modRev !== from.modRev) throw errors.conflict('container', plainName(from.name));
  return found;
}
