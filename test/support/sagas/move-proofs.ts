// Proofs of the sagas of moves between members: two members on one store, each with its own directories.
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSimRuntime } from '../../../server/drivers/runtime/sim/sim.ts';
import { openDirStorage } from '../../../server/drivers/storage/dir.ts';
import { KeyedMutex } from '../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { type ContainerDocument, type SnapshotDocument } from '../../../server/records/documents.ts';
import { Records } from '../../../server/records/records.ts';
import { arriveContainerSaga } from '../../../server/services/cluster/moves/sagas/container-arrive.ts';
import { leaveContainerSaga } from '../../../server/services/cluster/moves/sagas/container-leave.ts';
import { Pools } from '../../../server/services/storage/pools.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import type { SagaProofs } from './prove-saga.ts';

const signal = new AbortController().signal;
const machine = { architecture: 'x86_64', profiles: [], ephemeral: false, config: {}, description: '' } as const;
const times = { createdAt: '2024-01-01T00:00:00Z', lastUsedAt: '1970-01-01T00:00:00Z' } as const;
const devices = { root: { type: 'disk', path: '/', pool: 'p' } } as const;
const state = { stateful: false, lifecycle: 'ready' } as const;
const container: ContainerDocument = { v: 1, uuid: 'c-uuid', ...machine, ...times, ...state, devices, pool: 'p' };
const snapshot: SnapshotDocument = { v: 1, ...machine, ...times, ...state, devices, expiresAt: '0001-01-01T00:00:00Z' };

async function memberAt(dir: string, records: Records) {
  for (const each of ['pools', 'runtime', 'logs']) await mkdir(join(dir, each), { recursive: true });
  const storage = openDirStorage({
    root: join(dir, 'pools'),
    unpackImage: () => Promise.resolve(),
    ownership: 'ignore',
    log: silentLog,
  });
  const pools = new Pools({ records, drivers: { dir: storage }, locks: new KeyedMutex(), log: silentLog });
  await records.commit((changes) =>
    changes.put('pools', 'p', { v: 1, description: '', driver: 'dir', config: {}, lifecycle: 'ready' }),
  );
  await storage.createPool({ name: 'p', driver: 'dir', config: {} }, signal);
  const runtime = await openSimRuntime({ dir: join(dir, 'runtime') });
  return { records, pools, runtime, logsDir: join(dir, 'logs') };
}

/** Member 1 has a container with a snapshot; member 2 has nothing. */
async function world() {
  const dir = await mkdtemp(join(tmpdir(), 'gtya-saga-'));
  const store = openMemoryStore();
  const one = await memberAt(join(dir, 'one'), await Records.open(store, 1));
  const two = await memberAt(join(dir, 'two'), await Records.open(store, 2));
  await one.pools.createVolume('p', { type: 'container', name: 'c' }, { kind: 'empty' }, () => {}, signal);
  const ref = { volume: { type: 'container', name: 'c' }, snapshot: 's' } as const;
  await one.pools.createSnapshot('p', ref, { kind: 'now' }, signal);
  await mkdir(join(one.logsDir, 'c'));
  await one.records.commit((changes) => {
    changes.put('containers', 'c', container);
    changes.put('snapshots', 'c-uuid/s', snapshot);
  });
  const stop = new AbortController();
  for (const { records } of [one, two]) void records.follow(stop.signal, () => {});
  /** Waits until each member sees the writes of the other. */
  const settle = async (): Promise<void> => {
    for (;;) {
      const { rev } = await store.range('/', { limit: 1 });
      if ([one, two].every(({ records }) => records.contents.rev >= rev)) return;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  await settle();
  return {
    one,
    two,
    settle,
    snapshot: async () => {
      await settle();
      const { records } = await store.range('/', {});
      const intents = records.filter(({ key }) => key.includes('/sagas/')).length;
      const kept = records.filter(({ key }) => !key.includes('/sagas/') && !key.startsWith('/uses/'));
      return {
        intents,
        records: kept.map(({ key, value }) => [key, new TextDecoder().decode(value)]),
        files: (await filesIn(dir)).filter((file) => !file.includes('/tmp/')).toSorted(),
      };
    },
    cleanUp: async () => {
      stop.abort();
      await store.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

type World = Awaited<ReturnType<typeof world>>;

const arrival = ({ one, two }: World) => {
  const take = async (): Promise<void> => {
    const volume = { type: 'container', name: 'c' } as const;
    await two.pools.createVolume('p', volume, { kind: 'empty' }, () => {}, signal);
    if (!(await two.pools.use('p').driver.hasVolume(two.pools.use('p').pool, volume))) throw new Error('no volume');
    await two.pools.createSnapshot('p', { volume, snapshot: 's' }, { kind: 'now' }, signal);
  };
  const modRev = one.records.containers.get('c')?.modRev ?? 0;
  return {
    saga: arriveContainerSaga(two, take),
    params: {
      from: { name: 'c', member: 1, modRev },
      name: 'c',
      document: container,
      snapshots: [{ name: 's', document: snapshot }],
    },
  };
};

/** The other member takes its record, as the last transaction of an arrival does. */
async function takeAway({ one, two, settle }: World): Promise<void> {
  await settle();
  const found = two.records.others.get('containers', 'c');
  if (found !== undefined) await two.records.commit((changes) => changes.takeOver('containers', found, 'c', container));
  await settle();
  if (one.records.containers.has('c')) throw new Error('the container is on both members');
}

export const moveProofs: Pick<SagaProofs, 'container-arrive' | 'container-leave'> = {
  'container-arrive': [
    {
      facts: { restores: true },
      make: async () => {
        const at = await world();
        return { records: at.two.records, ...arrival(at), snapshot: at.snapshot, cleanUp: at.cleanUp };
      },
    },
  ],
  'container-leave': [
    {
      facts: { restores: true, pointOfNoReturn: 'move' },
      make: async () => {
        const at = await world();
        return {
          records: at.one.records,
          saga: leaveContainerSaga(at.one, () => takeAway(at)),
          params: { name: 'c', uuid: 'c-uuid', pool: 'p' },
          snapshot: at.snapshot,
          cleanUp: at.cleanUp,
        };
      },
    },
  ],
};

export { arrival, takeAway, world as moveWorld, container as movedContainer };

/** Repeats a listing during which the pool deleted a temporary file in the background. */
async function filesIn(dir: string): Promise<readonly string[]> {
  for (;;) {
    const found = await readdir(dir, { recursive: true }).catch((error: NodeJS.ErrnoException) => error);
    if (!(found instanceof Error)) return found;
    if (found.code !== 'ENOENT') throw found;
  }
}
