// Snapshots that are copied or received get room for what their volume held then.
import { expect, test } from 'vitest';
import type { SnapshotRef } from '../../../../server/drivers/storage/driver.ts';
import type { Records } from '../../../../server/records/records.ts';
import { copySnapshotFiles } from '../../../../server/services/containers/create/copy.ts';
import type { SnapshotEntry } from '../../../../server/services/containers/shared/snapshot-records.ts';
import { copyVolumeSnapshots } from '../../../../server/services/storage/copy-volume-snapshots.ts';
import type { VolumeSnapshots } from '../../../../server/services/storage/custom-volumes.ts';
import type { Pools } from '../../../../server/services/storage/pools.ts';
import { ofContainerSnapshots } from '../../../../server/services/storage/volume-shapes.ts';

const never = new AbortController().signal;
const gibi = 1024 ** 3;

const records = { profiles: { get: () => undefined }, projects: { get: () => undefined } } as unknown as Records;
const ofSize = (name: string, size?: string): SnapshotEntry =>
  ({
    name,
    document: {
      profiles: [],
      config: {},
      devices: { root: { type: 'disk', path: '/', pool: 'p', ...(size && { size }) } },
    },
  }) as unknown as SnapshotEntry;

function recorded() {
  const made: SnapshotRef[] = [];
  const pools = {
    copySource: () => ({ kind: 'tree', path: '/there' }),
    createSnapshot: async (_pool: string, snapshot: SnapshotRef) => void made.push(snapshot),
  } as unknown as Pools;
  return { pools, made };
}

test('a snapshot of a container needs the size of its root disk then, beside that of the container now', () => {
  const volume = { type: 'container', name: 'c', shape: { bytes: gibi } } as const;
  const ofSnapshot = ofContainerSnapshots(records, volume, [ofSize('large', '2GiB'), ofSize('usual')]);
  expect(ofSnapshot('large')).toEqual({ ...volume, shape: { bytes: gibi, minBytes: 2 * gibi } });
  expect([ofSnapshot('usual'), ofSnapshot('other')]).toEqual([volume, volume]);
});

test('copies of snapshots of containers and of custom volumes ask for that size', async () => {
  const { pools, made } = recorded();
  const [there, here] = [
    { container: 'c', pool: 'p' },
    { name: 'd', pool: 'q' },
  ];
  await copySnapshotFiles({ records, pools }, there, here, [ofSize('s', '2GiB')], never);
  const custom = [{ name: 't', document: { config: { size: '3GiB' } } }] as unknown as VolumeSnapshots;
  await copyVolumeSnapshots(pools, { pool: 'p', name: 'v' }, { pool: 'q', name: 'w' }, custom, never);
  expect(made).toEqual([
    { volume: { type: 'container', name: 'd', shape: { minBytes: 2 * gibi } }, snapshot: 's' },
    { volume: { type: 'custom', name: 'w', shape: { minBytes: 3 * gibi } }, snapshot: 't' },
  ]);
});
