// Steps of every saga that makes a volume with content, a container's or a custom one: fills and limits it, and records its snapshots. Such
// a saga refuses a place that is not free.
import type { VolumeRef } from '../../drivers/storage/driver.ts';
import type { SagaContext, SagaStep } from '../../operations/saga.ts';
import type { Pools } from './pools.ts';

export interface Filling<P> {
  readonly fill: (params: P, context: SagaContext) => Promise<void>;
  /** The saga fails if the volume already holds more than its size. */
  readonly mustFit?: boolean;
  /** Records the snapshots, whose files `fill` may have brought. */
  readonly snapshots: (params: P, context: SagaContext) => Promise<void>;
}

/** The difference between volumes of containers and custom ones. */
interface FilledVolume<P> {
  readonly pools: Pick<Pools, 'deleteVolume'>;
  /** Its pool, and the volume there. */
  readonly placeOf: (params: P) => readonly [string, VolumeRef];
  readonly limit: (params: P, how: { readonly mustHold: boolean }) => Promise<void>;
  readonly dropSnapshots: (params: P) => Promise<void>;
}

export const fillingSteps = <P>(
  { pools, placeOf, limit, dropSnapshots }: FilledVolume<P>,
  { fill, mustFit = false, snapshots }: Filling<P>,
): readonly SagaStep<P>[] => [
  { name: 'volume', execute: fill, undo: (params) => pools.deleteVolume(...placeOf(params)) },
  { name: 'size', execute: (params) => limit(params, { mustHold: mustFit }) },
  // Their files are deleted with the volume.
  { name: 'snapshots', execute: snapshots, undo: dropSnapshots },
];
