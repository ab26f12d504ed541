// Steps of every saga that brings a copy up to date: adds new snapshots beside the old ones, then replaces the volume, and limits it.
import type { VolumeRef } from '../../../../drivers/storage/driver.ts';
import type { SagaContext, SagaStep } from '../../../../operations/saga.ts';
import type { Pools } from '../../../storage/pools.ts';

export interface RefreshWork<P> {
  /** Fills the added snapshots, in their order, then the volume: each all or nothing. */
  readonly fill: (params: P, context: SagaContext) => Promise<void>;
}

/** Recovery has no source. */
export const sourceIsGone: RefreshWork<unknown> = {
  fill: () => Promise.reject(new Error('The source of the copy is gone')),
};

type Added = readonly { readonly name: string }[];

/** Throws if the place of a snapshot that is added is not free. */
export async function refuseAdded(
  pools: Pick<Pools, 'refuseSnapshot'>,
  pool: string,
  volume: VolumeRef,
  added: Added,
): Promise<void> {
  for (const { name } of added) await pools.refuseSnapshot(pool, { volume, snapshot: name });
}

/** The difference between volumes of containers and custom ones. */
interface RefreshedVolume<P> {
  readonly pools: Pick<Pools, 'use'>;
  /** Its pool, and the volume there. */
  readonly placeOf: (params: P) => readonly [string, VolumeRef];
  readonly limit: (params: P) => Promise<void>;
  /** Records the added snapshots, whose files exist. */
  readonly record: (params: P, context: SagaContext) => Promise<void>;
  readonly forget: (params: P) => Promise<void>;
}

/** Undone, the added snapshots are gone; a volume that was complete stays refreshed. */
export const refreshSteps = <P extends { readonly added: Added }>(
  { pools, placeOf, limit, record, forget }: RefreshedVolume<P>,
  fill: RefreshWork<P>['fill'],
): readonly SagaStep<P>[] => [
  {
    name: 'content',
    execute: fill,
    async undo(params) {
      const [name, volume] = placeOf(params);
      const { driver, pool } = pools.use(name);
      for (const snapshot of params.added) await driver.deleteSnapshot(pool, { volume, snapshot: snapshot.name });
    },
  },
  { name: 'size', execute: limit },
  { name: 'snapshots', execute: record, undo: forget },
];
