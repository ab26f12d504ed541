// The sagas of snapshots and volumes against the saga proofs, on real directories.
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSimRuntime } from '../../../server/drivers/runtime/sim/sim.ts';
import { openDirStorage } from '../../../server/drivers/storage/dir.ts';
import type { VolumeRef } from '../../../server/drivers/storage/driver.ts';
import { EventHub } from '../../../server/events/hub.ts';
import { systemClock } from '../../../server/lib/clock.ts';
import { KeyedMutex } from '../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Sagas, type Saga } from '../../../server/operations/saga.ts';
import type {
  ContainerDocument,
  SnapshotDocument,
  VolumeDocument,
  VolumeSnapshotDocument,
} from '../../../server/records/documents.ts';
import { kindNames } from '../../../server/records/documents.ts';
import { Records } from '../../../server/records/records.ts';
import { createContainerSaga } from '../../../server/services/containers/life/create.ts';
import {
  createSnapshotSaga,
  deleteSnapshotSaga,
  renameSnapshotSaga,
  restoreSnapshotSaga,
} from '../../../server/services/containers/snapshots/sagas.ts';
import { receiveContainerSaga } from '../../../server/services/migration/container-target.ts';
import { refreshSaga } from '../../../server/services/migration/refresh-saga.ts';
import { receiveVolumeSaga } from '../../../server/services/migration/volume-target.ts';
import { Pools } from '../../../server/services/storage/pools.ts';
import {
  createVolumeSaga,
  deleteVolumeSaga,
  moveVolumeSaga,
  renameVolumeSaga,
  restoreVolumeSaga,
} from '../../../server/services/storage/volume-sagas.ts';
import {
  createVolumeSnapshotSaga,
  deleteVolumeSnapshotSaga,
  renameVolumeSnapshotSaga,
} from '../../../server/services/storage/volume-snapshot-sagas.ts';
import { openMemoryStore } from '../../../server/store/memory.ts';
import { proveSaga, type SagaUnderTest } from '../../support/saga-proofs.ts';

const signal = new AbortController().signal;
const trusted = { class: 'trusted', requestor: { username: '', protocol: 'unix', address: '@' } } as const;
const volume = { pool: 'p', name: 'v' };
const base = { v: 1, description: '', createdAt: '', lifecycle: 'ready' } as const;
const root = { type: 'disk', path: '/', pool: 'p' };
const container: ContainerDocument = {
  ...base,
  uuid: 'c-uuid',
  architecture: 'x86_64',
  profiles: [],
  ephemeral: false,
  config: {},
  devices: { root, data: { type: 'disk', path: '/mnt', pool: 'p', source: 'v' } },
  lastUsedAt: '',
  stateful: false,
  pool: 'p',
};
const snapshot: SnapshotDocument = { ...container, expiresAt: '' };
const volumeDocument: VolumeDocument = { ...base, uuid: 'v-uuid', config: {} };
const volumeSnapshot: VolumeSnapshotDocument = { ...base, config: {} };

/** Pools p and q, a container with a snapshot and files of its own since, a volume with the same. */
async function world() {
  const dir = await mkdtemp(join(tmpdir(), 'gtya-storage-saga-'));
  await mkdir(join(dir, 'storage-pools'));
  const clock = systemClock();
  const events = new EventHub(clock);
  const records = await Records.open(openMemoryStore());
  const sagas = new Sagas({ records, clock, log: silentLog });
  const storage = openDirStorage({
    root: join(dir, 'storage-pools'),
    unpackImage: () => Promise.resolve(),
    ownership: 'ignore',
    log: silentLog,
  });
  const drivers = { dir: storage };
  const pools = new Pools({ records, drivers, sagas, events, locks: new KeyedMutex(), log: silentLog });
  for (const name of ['p', 'q']) await pools.create(trusted, { name, driver: 'dir' });
  const make = async (ref: VolumeRef): Promise<void> => {
    await pools.createVolume('p', ref, { kind: 'empty' }, () => {}, signal);
    await writeFile(join(pools.volumePath('p', ref), 'since'), '');
    // Not by the driver: these worlds are many, and a copy takes programs.
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
    // A removal that goes on is waited for by whoever asks how much room there is.
    for (const name of ['p', 'q']) await storage.resources(pools.use(name).pool);
    return {
      records: kindNames.map((kind) => records[kind].list().map(({ name, document }) => ({ kind, name, document }))),
      files: (await readdir(dir, { recursive: true })).toSorted(),
    };
  };
  return {
    records,
    pools,
    runtime,
    look: async () => JSON.parse(JSON.stringify(await look()).replaceAll(dir, 'DIR')) as unknown,
    cleanUp: () => rm(dir, { recursive: true, force: true }),
  };
}
type World = Awaited<ReturnType<typeof world>>;

function subject<P>(
  prepare: (
    at: World,
  ) => { readonly saga: Saga<P>; readonly params: P } | Promise<{ readonly saga: Saga<P>; readonly params: P }>,
) {
  return async (): Promise<SagaUnderTest<P>> => {
    const at = await world();
    return { records: at.records, ...(await prepare(at)), snapshot: at.look, cleanUp: at.cleanUp };
  };
}

const ofContainer = { container: 'c', uuid: 'c-uuid', pool: 'p' };
const ofVolume = { volume, uuid: 'v-uuid' };
const unused = (at: World) =>
  at.records.commit((changes) => changes.put('containers', 'c', { ...container, devices: { root } }));

proveSaga(
  'snapshot-create',
  { restores: true },
  subject((at) => ({
    saga: createSnapshotSaga(at),
    params: { ...ofContainer, snapshot: 't', document: snapshot },
  })),
);
proveSaga(
  'snapshot-delete',
  { restores: false },
  subject((at) => ({ saga: deleteSnapshotSaga(at), params: { ...ofContainer, snapshot: 's' } })),
);
proveSaga(
  'snapshot-rename',
  { restores: true },
  subject((at) => ({ saga: renameSnapshotSaga(at), params: { ...ofContainer, snapshot: 's', to: 't' } })),
);
proveSaga(
  'snapshot-restore',
  { restores: false },
  subject((at) => ({
    saga: restoreSnapshotSaga(at),
    params: { ...ofContainer, snapshot: 's', document: { ...container, description: 'restored' } },
  })),
);
proveSaga(
  'container-create with snapshots of another',
  { restores: true },
  subject((at) => ({
    saga: createContainerSaga(at),
    params: {
      name: 'd',
      document: { ...container, uuid: 'd-uuid', devices: { root } },
      source: { kind: 'copy', from: { type: 'container', name: 'c' } } as const,
      copied: { from: { container: 'c', pool: 'p' }, snapshots: [{ name: 's', document: snapshot }] },
    },
  })),
);
const arrive = async (at: World, ref: VolumeRef): Promise<void> => {
  await at.pools.createVolume('p', ref, { kind: 'empty' }, () => {}, signal);
  await at.pools.createSnapshot('p', { volume: ref, snapshot: 's' }, { kind: 'now' }, signal);
};
proveSaga(
  'container-receive',
  { restores: true },
  subject((at) => ({
    saga: receiveContainerSaga(at, ({ name }) => arrive(at, { type: 'container', name })),
    params: {
      name: 'd',
      document: { ...container, uuid: 'd-uuid', devices: { root } },
      snapshots: [{ name: 's', document: snapshot }],
    },
  })),
);
proveSaga(
  'container-refresh',
  { restores: true },
  subject((at) => {
    const ref = { volume: { type: 'container', name: 'c' }, snapshot: 't' } as const;
    const bring = () => at.pools.createSnapshot('p', ref, { kind: 'now' }, signal);
    const params = { name: 'c', uuid: 'c-uuid', pool: 'p', added: [{ name: 't', document: snapshot }] };
    return { saga: refreshSaga(at, { bring }), params };
  }),
);
proveSaga(
  'volume-receive',
  { restores: true },
  subject((at) => ({
    saga: receiveVolumeSaga(at, () => arrive(at, { type: 'custom', name: 'w' })),
    params: {
      volume: { pool: 'p', name: 'w' },
      document: { ...volumeDocument, uuid: 'w-uuid' },
      snapshots: [{ name: 's', document: volumeSnapshot }],
    },
  })),
);
proveSaga(
  'volume-create with snapshots of another',
  { restores: true },
  subject((at) => ({
    saga: createVolumeSaga(at),
    params: {
      volume: { pool: 'q', name: 'w' },
      document: { ...volumeDocument, uuid: 'w-uuid' },
      source: at.pools.copySource('p', { type: 'custom', name: 'v' }, undefined, 'q'),
      copied: { from: volume, snapshots: [{ name: 's', document: volumeSnapshot }] },
    },
  })),
);
proveSaga(
  'volume-delete',
  { restores: false },
  subject(async (at) => {
    await unused(at);
    return { saga: deleteVolumeSaga(at), params: volume };
  }),
);
proveSaga(
  'volume-rename',
  { restores: true },
  subject((at) => ({ saga: renameVolumeSaga(at), params: { from: volume, to: { pool: 'p', name: 'w' } } })),
);
proveSaga(
  'volume-restore',
  { restores: false },
  subject((at) => ({ saga: restoreVolumeSaga(at), params: { ...ofVolume, snapshot: 's' } })),
);
proveSaga(
  'volume-snapshot-create',
  { restores: true },
  subject((at) => ({
    saga: createVolumeSnapshotSaga(at),
    params: { ...ofVolume, snapshot: 't', document: volumeSnapshot },
  })),
);
proveSaga(
  'volume-snapshot-delete',
  { restores: false },
  subject((at) => ({ saga: deleteVolumeSnapshotSaga(at), params: { ...ofVolume, snapshot: 's' } })),
);
proveSaga(
  'volume-snapshot-rename',
  { restores: true },
  subject((at) => ({ saga: renameVolumeSnapshotSaga(at), params: { ...ofVolume, snapshot: 's', to: 't' } })),
);

/** Once the original is gone there is no way back: not a saga that unwinds from everywhere. */
describe('the saga volume-move', () => {
  const to = { pool: 'q', name: 'w' };
  const params = { from: volume, to, snapshots: [{ name: 's', document: volumeSnapshot }] };
  const quiet = { signal, progress: () => {} };
  const run = (at: World, saga: Saga<typeof params>): Promise<void> =>
    new Sagas({ records: at.records, clock: systemClock(), log: silentLog }).run(saga, params, quiet);
  const recover = (at: World): Promise<void> =>
    new Sagas({ records: at.records, clock: systemClock(), log: silentLog }).recover([moveVolumeSaga(at)]);
  const failingAt = (at: World, step: string, when: 'before' | 'after'): Saga<typeof params> => {
    const saga = moveVolumeSaga(at);
    const steps = saga.steps.map((each) => ({
      ...each,
      async execute(given: typeof params, context: typeof quiet) {
        if (each.name !== step || when === 'after') await each.execute(given, context);
        if (each.name === step) throw new Error('planned');
      },
    }));
    return { ...saga, steps };
  };

  async function moved(at: World): Promise<void> {
    expect([at.records.volumes.has('p/v'), at.records.volumes.has('q/w')]).toEqual([false, true]);
    expect(at.records.containers.get('c')?.document.devices['data']).toMatchObject({ pool: 'q', source: 'w' });
    const { driver, pool } = at.pools.use('q');
    expect(await driver.listVolumes(pool)).toEqual([{ type: 'custom', name: 'w' }]);
    expect(await driver.listSnapshots(pool, { type: 'custom', name: 'w' })).toEqual(['s']);
    expect(await at.pools.use('p').driver.listVolumes(at.pools.use('p').pool)).toEqual([
      { type: 'container', name: 'c' },
    ]);
    expect(at.records.sagas.size).toBe(0);
  }

  test('goes all the way, also when each step runs twice', async () => {
    const at = await world();
    try {
      const saga = moveVolumeSaga(at);
      const steps = saga.steps.map((step) => ({
        ...step,
        async execute(given: typeof params, context: typeof quiet) {
          await step.execute(given, context);
          await step.execute(given, context);
        },
      }));
      await run(at, { ...saga, steps });
      await moved(at);
    } finally {
      await at.cleanUp();
    }
  });

  test.each([
    ['copy', 'before'],
    ['copy', 'after'],
    ['original', 'before'],
  ] as const)('leaves everything as it was when it fails at %s, %s its work', async (step, when) => {
    const at = await world();
    try {
      const before = await at.look();
      await expect(run(at, failingAt(at, step, when))).rejects.toThrow('planned');
      expect(await at.look()).toEqual(before);
    } finally {
      await at.cleanUp();
    }
  });

  test('goes on at the next start when it fails after the original has gone', async () => {
    const at = await world();
    try {
      await expect(run(at, failingAt(at, 'original', 'after'))).rejects.toThrow('planned');
      expect(at.records.sagas.size).toBe(1);
      await recover(at);
      await moved(at);
    } finally {
      await at.cleanUp();
    }
  });
});
