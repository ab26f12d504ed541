// Proofs of the sagas of snapshots, volumes and migrations: each on real directories.
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSimRuntime } from '../../../server/drivers/runtime/sim/sim.ts';
import { openDirStorage } from '../../../server/drivers/storage/dir.ts';
import type { VolumeRef } from '../../../server/drivers/storage/driver.ts';
import { EventHub } from '../../../server/events/hub.ts';
import { systemClock } from '../../../server/lib/clock.ts';
import { KeyedMutex } from '../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Sagas } from '../../../server/operations/saga.ts';
import type { SnapshotDocument, VolumeDocument, VolumeSnapshotDocument } from '../../../server/records/documents.ts';
import { kindNames } from '../../../server/records/documents.ts';
import { Records } from '../../../server/records/records.ts';
import { refreshContainerSaga } from '../../../server/services/transfer/migration/sagas/container-refresh.ts';
import { Pools } from '../../../server/services/storage/pools.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import type { SagaFacts, SagaProof, SagaProofs, SagaUnderTest } from './prove-saga.ts';
import { createVolumeSnapshotSaga } from '../../../server/services/storage/sagas/volume-snapshot-create.ts';
import { deleteVolumeSnapshotSaga } from '../../../server/services/storage/sagas/volume-snapshot-delete.ts';
import { renameVolumeSnapshotSaga } from '../../../server/services/storage/sagas/volume-snapshot-rename.ts';
import { createSnapshotSaga } from '../../../server/services/containers/snapshots/snapshot-create.ts';
import { deleteSnapshotSaga } from '../../../server/services/containers/snapshots/snapshot-delete.ts';
import { renameSnapshotSaga } from '../../../server/services/containers/snapshots/snapshot-rename.ts';
import { restoreSnapshotSaga } from '../../../server/services/containers/snapshots/snapshot-restore.ts';
import { createContainerSaga } from '../../../server/services/containers/create/container-create.ts';
import { receiveContainerSaga } from '../../../server/services/transfer/migration/sagas/container-receive.ts';
import { refreshVolumeSaga } from '../../../server/services/transfer/migration/sagas/volume-refresh.ts';
import { receiveVolumeSaga } from '../../../server/services/transfer/migration/sagas/volume-receive.ts';
import { createVolumeSaga } from '../../../server/services/storage/sagas/volume-create.ts';
import { deleteVolumeSaga } from '../../../server/services/storage/sagas/volume-delete.ts';
import { renameVolumeSaga } from '../../../server/services/storage/sagas/volume-rename.ts';
import { restoreVolumeSaga } from '../../../server/services/storage/sagas/volume-restore.ts';
import { createPoolSaga } from '../../../server/services/storage/sagas/pool-create.ts';
import { StoragePools } from '../../../server/services/storage/storage-pools.ts';
import { moveVolumeSaga } from '../../../server/services/storage/sagas/volume-move.ts';
import { trusted } from './trusted-caller.ts';
import { containerRecord } from '../fakes/records.ts';

const signal = new AbortController().signal;
const volume = { pool: 'p', name: 'v' };
const base = { v: 1, description: '', createdAt: '', lifecycle: 'ready' } as const;
const root = { type: 'disk', path: '/', pool: 'p' };
const container = containerRecord({
  devices: { root, data: { type: 'disk', path: '/mnt', pool: 'p', source: 'v' } },
});
const snapshot: SnapshotDocument = { ...container, expiresAt: '' };
const volumeDocument: VolumeDocument = { ...base, uuid: 'v-uuid', config: {} };
const volumeSnapshot: VolumeSnapshotDocument = { ...base, config: {} };

/** Pools p and q, a container with a snapshot and files of its own since, a volume with the same. */
export async function storageWorld() {
  const dir = await mkdtemp(join(tmpdir(), 'gtya-storage-saga-'));
  await mkdir(join(dir, 'storage-pools'));
  const clock = systemClock();
  const events = new EventHub(clock);
  const records = await Records.open(openMemoryStore());
  const storage = openDirStorage({
    root: join(dir, 'storage-pools'),
    unpackImage: () => Promise.resolve(),
    ownership: 'ignore',
    log: silentLog,
  });
  const locks = new KeyedMutex();
  const pools = new Pools({ records, drivers: { dir: storage }, locks, log: silentLog });
  const table = { 'pool-create': createPoolSaga({ records, pools }) };
  const sagas = new Sagas({ records, clock, log: silentLog, table });
  const storagePools = new StoragePools({ records, pools, sagas, events, locks, log: silentLog });
  for (const name of ['p', 'q']) await storagePools.create(trusted, { name, driver: 'dir' });
  const make = async (ref: VolumeRef): Promise<void> => {
    await pools.createVolume('p', ref, { kind: 'empty' }, () => {}, signal);
    await writeFile(join(pools.volumePath('p', ref), 'since'), '');
    // Not with the driver, which starts programs for each copy of these many worlds.
    const { driver, pool } = pools.use('p');
    const then = driver.snapshotPath(pool, { volume: ref, snapshot: 's' });
    await mkdir(then, { recursive: true });
    await writeFile(join(then, 'then'), '');
  };
  await make({ type: 'container', name: 'c' });
  await make({ type: 'custom', name: 'v' });
  await records.commit((changes) => {
    changes.put('containers', 'c', container);
    changes.put('snapshots', 'c-uuid/s', snapshot);
    changes.put('volumes', 'p/v', volumeDocument);
    changes.put('volumeSnapshots', 'v-uuid/s', volumeSnapshot);
  });
  const runtime = await openSimRuntime({ dir: join(dir, 'runtime') });
  const look = async (): Promise<unknown> => {
    // A check of the free space waits for a background removal.
    for (const name of ['p', 'q']) await storage.resources(pools.use(name).pool);
    return {
      records: kindNames.map((kind) => records[kind].list().map(({ name, document }) => ({ kind, name, document }))),
      files: (await readdir(dir, { recursive: true })).toSorted(),
    };
  };
  const backupsDir = join(dir, 'backups');
  await mkdir(backupsDir);
  return {
    records,
    pools,
    runtime,
    backupsDir,
    look: async () => JSON.parse(JSON.stringify(await look()).replaceAll(dir, 'DIR')) as unknown,
    cleanUp: () => rm(dir, { recursive: true, force: true }),
  };
}
type World = Awaited<ReturnType<typeof storageWorld>>;

const undone = { restores: true };
const oneWay = { restores: false };

type Prepared<P> = Pick<SagaUnderTest<P>, 'saga' | 'params'>;
function proof<P>(
  facts: SagaFacts,
  prepare: (at: World) => Prepared<P> | Promise<Prepared<P>>,
  title?: string,
): SagaProof<P> {
  const make = async (): Promise<SagaUnderTest<P>> => {
    const at = await storageWorld();
    return { records: at.records, ...(await prepare(at)), snapshot: at.look, cleanUp: at.cleanUp };
  };
  return { ...(title === undefined ? {} : { title }), facts, make };
}

const ofContainer = { container: 'c', uuid: 'c-uuid', pool: 'p' };
const ofVolume = { volume, uuid: 'v-uuid' };
const unused = (at: World) =>
  at.records.commit((changes) => changes.put('containers', 'c', { ...container, devices: { root } }));

const withOtherProject = (at: World) =>
  at.records.commit((changes) =>
    changes.put('projects', 'other', { v: 1, description: '', config: {}, lifecycle: 'ready' }),
  );

const arrive = async (at: World, ref: VolumeRef): Promise<void> => {
  await at.pools.createVolume('p', ref, { kind: 'empty' }, () => {}, signal);
  await at.pools.createSnapshot('p', { volume: ref, snapshot: 's' }, { kind: 'now' }, signal);
};

export const volumeMove = {
  from: volume,
  to: { pool: 'q', name: 'w' },
  snapshots: [{ name: 's', document: volumeSnapshot }],
};

export const storageProofs = {
  'snapshot-create': [
    proof(undone, (at) => ({
      saga: createSnapshotSaga(at),
      params: { ...ofContainer, snapshot: 't', document: snapshot },
    })),
  ],
  'snapshot-delete': [
    proof(oneWay, (at) => ({ saga: deleteSnapshotSaga(at), params: { ...ofContainer, snapshot: 's' } })),
  ],
  'snapshot-rename': [
    proof(undone, (at) => ({ saga: renameSnapshotSaga(at), params: { ...ofContainer, snapshot: 's', to: 't' } })),
  ],
  'snapshot-restore': [
    proof(oneWay, (at) => ({
      saga: restoreSnapshotSaga(at),
      params: { ...ofContainer, snapshot: 's', document: { ...container, description: 'restored' } },
    })),
  ],
  'container-create': [
    proof(
      undone,
      (at) => ({
        saga: createContainerSaga(at),
        params: {
          name: 'd',
          document: { ...container, uuid: 'd-uuid', devices: { root } },
          source: { kind: 'copy', from: { type: 'container', name: 'c' } } as const,
          copied: { from: { container: 'c', pool: 'p' }, snapshots: [{ name: 's', document: snapshot }] },
        },
      }),
      'with snapshots of another',
    ),
  ],
  'container-receive': [
    proof(undone, (at) => ({
      saga: receiveContainerSaga(at, ({ name }) => arrive(at, { type: 'container', name })),
      params: {
        name: 'd',
        document: { ...container, uuid: 'd-uuid', devices: { root } },
        snapshots: [{ name: 's', document: snapshot }],
      },
    })),
  ],
  'container-refresh': [
    proof(undone, async (at) => {
      // The owners of its files, which a refresh that is undone leaves as the refresh made them.
      const config = { 'volatile.last_state.idmap': '[]' };
      await at.records.commit((changes) => changes.put('containers', 'c', { ...container, config }));
      const ref = { volume: { type: 'container', name: 'c' }, snapshot: 't' } as const;
      const fill = () => at.pools.createSnapshot('p', ref, { kind: 'now' }, signal);
      const params = { name: 'c', uuid: 'c-uuid', pool: 'p', added: [{ name: 't', document: snapshot }] };
      return { saga: refreshContainerSaga(at, { fill }), params };
    }),
  ],
  'volume-refresh': [
    proof(undone, (at) => {
      const ref = { volume: { type: 'custom', name: 'v' }, snapshot: 't' } as const;
      const fill = () => at.pools.createSnapshot('p', ref, { kind: 'now' }, signal);
      const params = { ...ofVolume, added: [{ name: 't', document: volumeSnapshot }] };
      return { saga: refreshVolumeSaga(at, { fill }), params };
    }),
  ],
  'volume-receive': [
    proof(undone, (at) => ({
      saga: receiveVolumeSaga(at, () => arrive(at, { type: 'custom', name: 'w' })),
      params: {
        volume: { pool: 'p', name: 'w' },
        document: { ...volumeDocument, uuid: 'w-uuid' },
        snapshots: [{ name: 's', document: volumeSnapshot }],
      },
    })),
  ],
  'volume-create': [
    proof(
      undone,
      (at) => ({
        saga: createVolumeSaga(at),
        params: {
          volume: { pool: 'q', name: 'w' },
          document: { ...volumeDocument, uuid: 'w-uuid' },
          source: at.pools.copySource('p', { type: 'custom', name: 'v' }, undefined, 'q'),
          copied: { from: volume, snapshots: [{ name: 's', document: volumeSnapshot }] },
        },
      }),
      'with snapshots of another',
    ),
  ],
  'volume-delete': [
    proof(oneWay, async (at) => {
      await unused(at);
      const file = {
        v: 1,
        file: 'f',
        createdAt: '',
        expiresAt: '',
        containerOnly: false,
        optimizedStorage: false,
      } as const;
      await writeFile(join(at.backupsDir, 'f'), '');
      await at.records.commit((changes) =>
        changes.put('backups', 'v-uuid/b', { ...file, sizeBytes: 0, lifecycle: 'ready' }),
      );
      return { saga: deleteVolumeSaga(at), params: volume };
    }),
  ],
  'volume-rename': [
    proof(undone, (at) => ({ saga: renameVolumeSaga(at), params: { from: volume, to: { pool: 'p', name: 'w' } } })),
    proof(
      undone,
      async (at) => {
        await unused(at);
        await withOtherProject(at);
        return { saga: renameVolumeSaga(at), params: { from: volume, to: { pool: 'p', name: 'other%v' } } };
      },
      'into another project',
    ),
  ],
  'volume-restore': [proof(oneWay, (at) => ({ saga: restoreVolumeSaga(at), params: { ...ofVolume, snapshot: 's' } }))],
  'volume-snapshot-create': [
    proof(undone, (at) => ({
      saga: createVolumeSnapshotSaga(at),
      params: { ...ofVolume, snapshot: 't', document: volumeSnapshot },
    })),
  ],
  'volume-snapshot-delete': [
    proof(oneWay, (at) => ({ saga: deleteVolumeSnapshotSaga(at), params: { ...ofVolume, snapshot: 's' } })),
  ],
  'volume-snapshot-rename': [
    proof(undone, (at) => ({ saga: renameVolumeSnapshotSaga(at), params: { ...ofVolume, snapshot: 's', to: 't' } })),
  ],
  'volume-move': [
    proof({ restores: true, pointOfNoReturn: 'original' }, (at) => ({ saga: moveVolumeSaga(at), params: volumeMove })),
    proof(
      { restores: true, pointOfNoReturn: 'original' },
      async (at) => {
        await unused(at);
        await withOtherProject(at);
        return { saga: moveVolumeSaga(at), params: { ...volumeMove, to: { pool: 'q', name: 'other%v' } } };
      },
      'into another project',
    ),
  ],
} satisfies Partial<SagaProofs>;
