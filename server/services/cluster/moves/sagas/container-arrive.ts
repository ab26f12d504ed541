// The target of a move between members: a stopped container arrives with its snapshots, or stays with its member.
import { errors } from '../../../../api/errors.ts';
import { plainName } from '../../../../api/project/project-names.ts';
import type { Saga, SagaContext } from '../../../../operations/saga.ts';
import type { ContainerDocument } from '../../../../records/documents.ts';
import type { OtherEntry } from '../../../../records/other-members.ts';
import type { Records } from '../../../../records/records.ts';
import type { ContainerDeps } from '../../../containers/deps.ts';
import { requirePlaces, requireProfiles } from '../../../containers/shared/draft.ts';
import { fillContainer, type NewContainer, refusePlace } from '../../../containers/shared/new-container.ts';
import { putSnapshots, type SnapshotEntry } from '../../../containers/shared/snapshot-records.ts';
import { requireProject } from '../../../shared/project-scope.ts';

/** `document`: the container's record here. It keeps the original's uuid: it is the same container. */
export interface ArriveParams extends NewContainer {
  /** The other member's record when the move began; any later change ends the move. */
  readonly from: { readonly name: string; readonly member: number; readonly modRev: number };
  readonly snapshots: readonly SnapshotEntry[];
}

/** Fills the volume with its snapshots; absent at recovery, which has no sender. */
export type TakeFiles = (params: ArriveParams, context: SagaContext) => Promise<void>;

/** Until the last transaction the other member has the container, and from then on only this one. */
export function arriveContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools'>,
  take: TakeFiles = () => Promise.reject(new Error('The member that has the container no longer sends')),
): Saga<ArriveParams> {
  const { records } = deps;
  return {
    kind: 'container-arrive',
    onRestart: 'unwind',
    isFenced: true,
    refuse: refusePlace(deps),
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
      changes.takeOver('containers', originalOf(records, from), name, document),
  };
}

/** Throws AppError conflict if it has changed. */
function originalOf(records: Records, from: ArriveParams['from']): OtherEntry<ContainerDocument> {
  const found = records.others.having('containers', from.name).find(({ member }) => member === from.member);
  if (found?.modRev !== from.modRev) throw errors.conflict('container', plainName(from.name));
  return found;
}
