// Steps of every saga that makes a container: its place is free, its volume is filled and limited, its snapshots are recorded.
import type { SagaContext, SagaStep } from '../../../operations/saga.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import { expand } from '../../expand.ts';
import { profilesOf } from '../../project-scope.ts';
import type { ContainerDeps } from '../deps.ts';
import { limitNewRoot } from '../devices/root-size.ts';
import { dropSnapshots } from '../snapshots/records.ts';
import { checkpointDirOf, removeCheckpoint } from './checkpoint.ts';

type Deps = Pick<ContainerDeps, 'records' | 'pools'>;

export interface NewContainer {
  readonly name: string;
  readonly document: ContainerDocument;
}

export interface Filling<P> {
  /** Makes the volume. */
  readonly fill: (params: P, context: SagaContext) => Promise<void>;
  /** The saga fails when the volume holds more already than its size allows. */
  readonly mustFit?: boolean;
  /** Records the snapshots, whose files `fill` may have brought. */
  readonly snapshots: (params: P, context: SagaContext) => Promise<void>;
}

export function fillContainer<P extends NewContainer>(
  { records, pools }: Deps,
  { fill, mustFit = false, snapshots }: Filling<P>,
): readonly SagaStep<P>[] {
  const volume = ({ name, document }: P) => [document.pool, { type: 'container', name } as const] as const;
  return [
    // A step of its own: a volume that was there before is not the saga's to undo.
    { name: 'place', execute: (params) => pools.refuseVolume(...volume(params)) },
    { name: 'volume', execute: fill, undo: (params) => pools.deleteVolume(...volume(params)) },
    {
      name: 'size',
      async execute({ name, document }) {
        const { devices } = expand(document, profilesOf(records, name));
        await limitNewRoot(pools, document.pool, name, devices, { mustHold: mustFit });
      },
    },
    {
      name: 'snapshots',
      execute: snapshots,
      // Their files go with the volume.
      undo: ({ document }) => dropSnapshots(records, document.uuid),
    },
  ];
}

/** Removes the memory that came with the files: a copy is another machine, which cannot go on where the original stood. */
export const dropCheckpoint = <P extends NewContainer>(deps: Deps, isCopy: (params: P) => boolean): SagaStep<P> => ({
  name: 'state',
  async execute(params) {
    const { name, document } = params;
    if (isCopy(params)) await removeCheckpoint(checkpointDirOf(deps, { name, pool: document.pool }));
  },
});
