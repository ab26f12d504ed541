// Proofs of the sagas that store and throw away checkpoints: each on a simulated container.
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSimRuntime } from '../../../server/drivers/runtime/sim/sim.ts';
import { openDirStorage } from '../../../server/drivers/storage/dir.ts';
import { EventHub } from '../../../server/events/hub.ts';
import { systemClock } from '../../../server/lib/clock.ts';
import { KeyedMutex } from '../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Sagas } from '../../../server/operations/saga.ts';
import type { SnapshotDocument } from '../../../server/records/documents.ts';
import { Records } from '../../../server/records/records.ts';
import { Pools } from '../../../server/services/storage/pools.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import type { SagaProof, SagaProofs } from './prove-saga.ts';
import {
  createSnapshotSaga,
  type CreateSnapshotParams,
} from '../../../server/services/containers/snapshots/snapshot-create.ts';
import { dropCheckpointSaga } from '../../../server/services/containers/power/container-drop-state.ts';
import { storeCheckpointSaga } from '../../../server/services/containers/power/container-store-state.ts';
import { createPoolSaga } from '../../../server/services/storage/sagas/pool-create.ts';
import { StoragePools } from '../../../server/services/storage/storage-pools.ts';
import { trusted } from './trusted-caller.ts';
import { containerRecord } from '../fakes/records.ts';

const signal = new AbortController().signal;
export const container = containerRecord({
  config: { 'volatile.last_state.power': 'RUNNING' },
  devices: { root: { type: 'disk', path: '/', pool: 'p' } },
});
const snapshot: SnapshotDocument = { ...container, expiresAt: '' };

/** Pool p with a container c that runs, unless `stored`: then it is stopped and has a checkpoint. */
export async function checkpointWorld(stored = false) {
  const dir = await mkdtemp(join(tmpdir(), 'gtya-state-saga-'));
  await mkdir(join(dir, 'storage-pools'));
  const clock = systemClock();
  const records = await Records.open(openMemoryStore());
  const storage = openDirStorage({
    root: join(dir, 'storage-pools'),
    unpackImage: () => Promise.resolve(),
    ownership: 'ignore',
    log: silentLog,
  });
  const events = new EventHub(clock);
  const locks = new KeyedMutex();
  const pools = new Pools({ records, drivers: { dir: storage }, locks, log: silentLog });
  // At one fixed moment: the comparison must not depend on the time.
  const runtime = await openSimRuntime({ dir: join(dir, 'runtime'), now: () => 1_000 });
  const table = {
    'pool-create': createPoolSaga({ records, pools }),
    'container-store-state': storeCheckpointSaga({ records, pools, runtime }, true),
  };
  const sagas = new Sagas({ records, clock, log: silentLog, table });
  await new StoragePools({ records, pools, sagas, events, locks, log: silentLog }).create(trusted, {
    name: 'p',
    driver: 'dir',
  });
  await pools.createVolume('p', { type: 'container', name: 'c' }, { kind: 'empty' }, () => {}, signal);
  const home = pools.volumePath('p', { type: 'container', name: 'c' });
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

const withState = (wasFrozen: boolean): SagaProof<CreateSnapshotParams> => ({
  title: `with the state of a ${wasFrozen ? 'frozen' : 'running'} container`,
  facts: { restores: true },
  make: async () => {
    const at = await checkpointWorld();
    if (wasFrozen) await at.runtime.freeze('c');
    const document = { ...snapshot, stateful: true };
    const params = { container: 'c', uuid: 'c-uuid', pool: 'p', snapshot: 't', document, state: { wasFrozen } };
    return { ...at, saga: createSnapshotSaga(at), params };
  },
});

export const checkpointProofs = {
  'snapshot-create': [withState(false), withState(true)],
  'container-drop-state': [
    {
      facts: { restores: false },
      make: async () => {
        const at = await checkpointWorld(true);
        return { ...at, saga: dropCheckpointSaga(at), params: { name: 'c', pool: 'p' } };
      },
    },
  ],
} satisfies Partial<SagaProofs>;
