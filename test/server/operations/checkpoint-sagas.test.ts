// The sagas that make and remove checkpoints, on a simulated container: the proofs of every saga, and recovery after a killed daemon.
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSimRuntime } from '../../../server/drivers/runtime/sim/sim.ts';
import { openDirStorage } from '../../../server/drivers/storage/dir.ts';
import { EventHub } from '../../../server/events/hub.ts';
import { systemClock } from '../../../server/lib/clock.ts';
import { KeyedMutex } from '../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Sagas } from '../../../server/operations/saga.ts';
import type { ContainerDocument, SnapshotDocument } from '../../../server/records/documents.ts';
import { Records } from '../../../server/records/records.ts';
import { createSnapshotSaga } from '../../../server/services/containers/snapshots/sagas.ts';
import {
  dropCheckpointSaga,
  storeCheckpointSaga,
  type StoreCheckpointParams,
} from '../../../server/services/containers/life/checkpoint.ts';
import { Pools } from '../../../server/services/storage/pools.ts';
import { openMemoryStore } from '../../../server/store/memory.ts';
import { proveSaga } from '../../support/saga-proofs.ts';

const signal = new AbortController().signal;
const trusted = { class: 'trusted', requestor: { username: '', protocol: 'unix', address: '@' } } as const;
const container: ContainerDocument = {
  v: 1,
  uuid: 'c-uuid',
  architecture: 'x86_64',
  profiles: [],
  ephemeral: false,
  config: { 'volatile.last_state.power': 'RUNNING' },
  devices: { root: { type: 'disk', path: '/', pool: 'p' } },
  description: '',
  createdAt: '',
  lastUsedAt: '',
  stateful: false,
  pool: 'p',
  lifecycle: 'ready',
};
const snapshot: SnapshotDocument = { ...container, expiresAt: '' };

/** Pool p with a container c that runs, unless `stored`: then it is stopped and has a checkpoint. */
async function world(stored = false) {
  const dir = await mkdtemp(join(tmpdir(), 'gtya-state-saga-'));
  await mkdir(join(dir, 'storage-pools'));
  const clock = systemClock();
  const records = await Records.open(openMemoryStore());
  const sagas = new Sagas({ records, clock, log: silentLog });
  const storage = openDirStorage({
    root: join(dir, 'storage-pools'),
    unpackImage: () => Promise.resolve(),
    ownership: 'ignore',
    log: silentLog,
  });
  const events = new EventHub(clock);
  const pools = new Pools({
    records,
    drivers: { dir: storage },
    sagas,
    events,
    locks: new KeyedMutex(),
    log: silentLog,
  });
  await pools.create(trusted, { name: 'p', driver: 'dir' });
  await pools.createVolume('p', { type: 'container', name: 'c' }, { kind: 'empty' }, () => {}, signal);
  const home = pools.volumePath('p', { type: 'container', name: 'c' });
  // Of one moment: what is compared must not depend on the time.
  const runtime = await openSimRuntime({ dir: join(dir, 'runtime'), now: () => 1_000 });
  const run = {
    name: 'c',
    hostname: 'c',
    rootfs: join(home, 'rootfs'),
    logDir: join(dir, 'logs'),
    architecture: 'x86_64',
  };
  await mkdir(run.logDir);
  if (!stored) await runtime.start({ ...run, idmap: [], config: {}, nics: [], mounts: [] }, signal);
  if (stored) await mkdir(join(home, 'state'));
  if (stored) await writeFile(join(home, 'state/pages'), 'x');
  await records.commit((changes) => changes.put('containers', 'c', { ...container, stateful: stored }));
  const kinds = ['containers', 'snapshots', 'sagas'] as const;
  return {
    records,
    pools,
    runtime,
    sagas,
    home,
    snapshot: async (): Promise<unknown> => {
      const all = kinds.map((kind) => records[kind].list().map(({ name, document }) => ({ kind, name, document })));
      const files = (await readdir(join(dir, 'storage-pools'), { recursive: true })).toSorted();
      return JSON.parse(JSON.stringify({ all, files, status: runtime.probe('c').status }).replaceAll(dir, 'DIR'));
    },
    cleanUp: async () => {
      await runtime.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

for (const wasFrozen of [false, true]) {
  proveSaga(
    `snapshot-create with the state of a ${wasFrozen ? 'frozen' : 'running'} container`,
    { restores: true },
    async () => {
      const at = await world();
      if (wasFrozen) await at.runtime.freeze('c');
      const params = {
        container: 'c',
        uuid: 'c-uuid',
        pool: 'p',
        snapshot: 't',
        document: { ...snapshot, stateful: true },
      };
      return { ...at, saga: createSnapshotSaga(at), params: { ...params, state: { wasFrozen } } };
    },
  );
}

proveSaga('container-drop-state', { restores: false }, async () => {
  const at = await world(true);
  return { ...at, saga: dropCheckpointSaga(at), params: { name: 'c', pool: 'p' } };
});

describe('a daemon that died during a checkpoint', () => {
  const params: StoreCheckpointParams = { name: 'c', pool: 'p', logFile: '/dev/null' };
  const begun = async (at: Awaited<ReturnType<typeof world>>): Promise<void> => {
    await at.records.commit((changes) =>
      changes.put('sagas', 'id', { v: 1, kind: 'container-store-state', params, startedAt: '' }),
    );
  };
  const resumed = async (work: (at: Awaited<ReturnType<typeof world>>) => Promise<void>) => {
    const at = await world();
    try {
      await begun(at);
      await work(at);
      await at.sagas.recover([storeCheckpointSaga(at, true)]);
      const { stateful, config } = at.records.containers.get('c')?.document ?? container;
      const power = config['volatile.last_state.power'];
      const files = (await readdir(at.home)).toSorted();
      return { stateful, power, files, status: at.runtime.probe('c').status, sagas: at.records.sagas.size };
    } finally {
      await at.cleanUp();
    }
  };

  test('before anything was stored: the container runs on and nothing is left', async () => {
    const expected = { stateful: false, power: 'RUNNING', files: ['rootfs'], status: 'running', sagas: 0 };
    expect(await resumed(async () => {})).toEqual(expected);
    expect(
      await resumed(async ({ home }) => {
        await mkdir(join(home, 'state.part'));
        await writeFile(join(home, 'state.part/pages'), 'half');
      }),
    ).toEqual(expected);
  });

  test('and whose tool went on and ended the container: the state is kept', async () => {
    const expected = { stateful: true, power: 'STOPPED', files: ['rootfs', 'state'], status: 'stopped', sagas: 0 };
    const store = async ({ home, runtime }: Awaited<ReturnType<typeof world>>): Promise<void> => {
      await mkdir(join(home, 'state.part'));
      await runtime.checkpoints?.checkpoint('c', { dir: join(home, 'state.part'), leave: 'stopped' }, signal);
    };
    expect(await resumed(store)).toEqual(expected);
    expect(
      await resumed(async (at) => {
        await store(at);
        await rename(join(at.home, 'state.part'), join(at.home, 'state'));
      }),
    ).toEqual(expected);
  });

  test('and whose container ended without its state being whole: it is stopped, and nothing is left', async () => {
    const found = await resumed(async ({ home, runtime }) => {
      await mkdir(join(home, 'state.part'));
      await writeFile(join(home, 'state.part/pages'), 'half');
      await runtime.stop('c', { force: true }, signal);
    });
    expect(found).toMatchObject({ stateful: false, files: ['rootfs'], status: 'stopped', sagas: 0 });
  });
});
