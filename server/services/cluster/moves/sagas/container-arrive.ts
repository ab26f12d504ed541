// The target of a move between members: a stopped container comes with its snapshots from the member that has it, or stays there.
import { errors } from '../../../../api/errors.ts';
import { plainName } from '../../../../api/project/project-names.ts';
import type { Saga, SagaContext } from '../../../../operations/saga.ts';
import type { ContainerDocument } from '../../../../records/documents.ts';
import type { OtherEntry } from '../../../../records/other-members.ts';
import type { Records } from '../../../../records/records.ts';
import type { ContainerDeps } from '../../../containers/deps.ts';
import { requirePlaces, requireProfiles } from '../../../containers/shared/draft.ts';
import { fillContainer, type NewContainer } from '../../../containers/shared/new-container.ts';
import { putSnapshots, type SnapshotEntry } from '../../../containers/shared/snapshot-records.ts';
import { requireProject } from '../../../shared/project-scope.ts';

/** `document`: what the container is here. It has the uuid of the original: it is the same container. */
export interface ArriveParams extends NewContainer {
  /** As the member that has it recorded it when the move began; any change since then ends the move. */
  readonly from: { readonly name: string; readonly member: number; readonly modRev: number };
  readonly snapshots: readonly SnapshotEntry[];
}

/** Fills the volume, snapshots and all; absent at recovery, which has no sender. */
export type TakeFiles = (params: ArriveParams, context: SagaContext) => Promise<void>;

/** Until the last transaction the container is that of the other member, and from then on it is only here. */
export function arriveContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools'>,
  take: TakeFiles = () => Promise.reject(new Error('The member that has the container no longer sends')),
): Saga<ArriveParams> {
  const { records } = deps;
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
    steps: fillContainer<ArriveParams>(deps, {
      fill: take,
      snapshots: ({ document, snapshots }) => putSnapshots(records, document.uuid, snapshots),
    }),
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
