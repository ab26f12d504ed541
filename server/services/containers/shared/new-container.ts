// Steps of every saga that makes a container: its volume, and the cleanup of a copy.
import type { SagaStep } from '../../../operations/saga.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import { expand } from '../../shared/expand.ts';
import { profilesOf } from '../../shared/project-scope.ts';
import { type Filling, fillingSteps } from '../../storage/filling.ts';
import type { ContainerDeps } from '../deps.ts';
import { limitNewRoot } from '../../storage/root-size.ts';
import { dropSnapshots } from './snapshot-records.ts';
import { checkpointDirOf, removeCheckpoint } from './checkpoint.ts';

type Deps = Pick<ContainerDeps, 'records' | 'pools'>;

export interface NewContainer {
  readonly name: string;
  readonly document: ContainerDocument;
}

export const refusePlace =
  ({ pools }: Pick<Deps, 'pools'>) =>
  ({ name, document }: NewContainer): Promise<void> =>
    pools.refuseVolume(document.pool, { type: 'container', name });

export function fillContainer<P extends NewContainer>({ records, pools }: Deps, filling: Filling<P>) {
  return fillingSteps<P>(
    {
      pools,
      placeOf: ({ name, document }) => [document.pool, { type: 'container', name }],
      async limit({ name, document }, how) {
        const { devices } = expand(document, profilesOf(records, name));
        await limitNewRoot(pools, document.pool, name, devices, how);
      },
      dropSnapshots: ({ document }) => dropSnapshots(records, document.uuid),
    },
    filling,
  );
}

/** Removes memory that came with the files: a copy is another machine, which cannot resume the original's. */
export const dropCheckpoint = <P extends NewContainer>(deps: Deps, isCopy: (params: P) => boolean): SagaStep<P> => ({
  name: 'state',
  async execute(params) {
    const { name, document } = params;
    if (isCopy(params)) await removeCheckpoint(checkpointDirOf(deps, { name, pool: document.pool }));
  },
});
