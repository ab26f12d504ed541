// Proofs of the sagas of containers, networks, pools, images, backups and profiles: each on the simulation and real directories.
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSimNetwork } from '../../../server/drivers/network/sim.ts';
import { hostIds } from '../../../server/drivers/runtime/idmap/id-map.ts';
import { openSimRuntime } from '../../../server/drivers/runtime/sim/sim.ts';
import { openDirStorage } from '../../../server/drivers/storage/dir.ts';
import { EventHub } from '../../../server/events/hub.ts';
import { systemClock } from '../../../server/lib/clock.ts';
import { KeyedMutex } from '../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Sagas } from '../../../server/operations/saga.ts';
import { kindNames, type ProjectDocument } from '../../../server/records/documents.ts';
import { Records } from '../../../server/records/records.ts';
import { IdMaps } from '../../../server/services/containers/shared/id-maps.ts';
import { NetworkHosts } from '../../../server/services/networks/network-hosts.ts';
import { ContainerView } from '../../../server/services/shared/container-view.ts';
import { Networks } from '../../../server/services/networks/networks.ts';
import { Pools } from '../../../server/services/storage/pools.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import type { SagaFacts, SagaProof, SagaProofs, SagaUnderTest } from './prove-saga.ts';
import { createContainerSaga } from '../../../server/services/containers/create/container-create.ts';
import { deleteContainerSaga } from '../../../server/services/containers/remove/container-delete.ts';
import { createBackupSaga } from '../../../server/services/transfer/backups/sagas/backup-create.ts';
import { renameContainerSaga } from '../../../server/services/containers/move/container-rename.ts';
import { addImageSaga } from '../../../server/services/images/sagas/image-add.ts';
import { renameProjectSaga } from '../../../server/services/projects/sagas/project-rename.ts';
import { renameProfileSaga } from '../../../server/services/profiles/sagas/profile-rename.ts';
import { createPoolSaga } from '../../../server/services/storage/sagas/pool-create.ts';
import { createNetworkSaga } from '../../../server/services/networks/sagas/network-create.ts';
import { ImageUsers } from '../../../server/services/images/image-users.ts';
import { StoragePools } from '../../../server/services/storage/storage-pools.ts';
import { deleteNetworkSaga } from '../../../server/services/networks/sagas/network-delete.ts';
import { renameNetworkSaga } from '../../../server/services/networks/sagas/network-rename.ts';
import { deletePoolSaga } from '../../../server/services/storage/sagas/pool-delete.ts';
import { deleteImageSaga } from '../../../server/services/images/sagas/image-delete.ts';
import { moveContainerSaga } from '../../../server/services/containers/move/container-move.ts';
import { trusted } from './trusted-caller.ts';
import { containerRecord, imageRecord } from '../fakes/records.ts';

const signal = new AbortController().signal;

async function world() {
  const dir = await mkdtemp(join(tmpdir(), 'gtya-saga-'));
  for (const each of ['storage-pools', 'images', 'runtime', 'networks', 'logs', 'backups'])
    await mkdir(join(dir, each));
  const clock = systemClock();
  const log = silentLog;
  const events = new EventHub(clock);
  const records = await Records.open(openMemoryStore());
  const locks = new KeyedMutex();
  const runtime = await openSimRuntime({ dir: join(dir, 'runtime') });
  const network = openSimNetwork({ dir: join(dir, 'networks') });
  const root = join(dir, 'storage-pools');
  const storage = openDirStorage({ root, unpackImage: () => Promise.resolve(), ownership: 'ignore', log });
  const view = new ContainerView({ records, runtime });
  const hosts = new NetworkHosts({ records, runtime, network, view, log });
  const pools = new Pools({ records, drivers: { dir: storage }, locks, log });
  const table = {
    'pool-create': createPoolSaga({ records, pools }),
    'network-create': createNetworkSaga({ records, network }),
  };
  const sagas = new Sagas({ records, clock, log, table });
  return {
    dir,
    records,
    runtime,
    network,
    pools,
    view,
    users: new ImageUsers(),
    storagePools: new StoragePools({ records, pools, sagas, events, locks, log }),
    networks: new Networks({
      records,
      network,
      hosts,
      view,
      sagas,
      events,
      locks,
      log,
      running: { applyAll: async () => {} },
      location: () => 'none',
    }),
    imagesDir: join(dir, 'images'),
    logsDir: join(dir, 'logs'),
    backupsDir: join(dir, 'backups'),
  };
}
type World = Awaited<ReturnType<typeof world>>;

async function tree(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true });
  return entries.toSorted();
}

const snapshotOf = (at: World) => async (): Promise<unknown> => {
  // A check of the free space waits for a background removal.
  for (const { name } of at.records.pools.list()) {
    const { driver, pool } = at.pools.use(name);
    await driver.resources(pool).catch(() => {});
  }
  const records = kindNames.map((kind) =>
    at.records[kind].list().map(({ name, document }) => ({ kind, name, document })),
  );
  // Paths differ from world to world.
  return JSON.parse(
    JSON.stringify({ records, files: await tree(at.dir), networks: await at.network.interfaces() }).replaceAll(
      at.dir,
      'DIR',
    ),
  );
};

const container = containerRecord({ uuid: '0', profiles: ['default'] });
const project: ProjectDocument = { v: 1, description: '', config: {}, lifecycle: 'ready' };
const image = imageRecord({ sizeBytes: 1, createdAt: '', expiresAt: '', lastUsedAt: '', uploadedAt: '' });
const fingerprint = 'ab'.repeat(32);

async function withPool(at: World): Promise<void> {
  await at.storagePools.create(trusted, { name: 'p', driver: 'dir' });
  const root = { type: 'disk', path: '/', pool: 'p' };
  await at.records.commit((changes) =>
    changes.put('profiles', 'default', { v: 1, description: '', config: {}, devices: { root } }),
  );
}
async function withContainer(at: World, name: string): Promise<void> {
  await at.pools.createVolume('p', { type: 'container', name }, { kind: 'empty' }, () => {}, signal);
  await at.records.commit((changes) => changes.put('containers', name, container));
}

/** A daemon with a profile that has a root disk. */
async function withProject(at: World, name: string): Promise<void> {
  const root = { type: 'disk', path: '/', pool: 'p' };
  const config = { 'features.profiles': 'true', 'features.images': 'true', 'features.storage.volumes': 'true' };
  await at.records.commit((changes) => {
    changes.put('projects', name, { ...project, config });
    changes.put('profiles', `${name}%default`, { v: 1, description: '', config: {}, devices: { root } });
  });
}

const undone = { restores: true };
const oneWay = { restores: false };

function proof<P>(
  facts: SagaFacts,
  prepare: (at: World) => Promise<Pick<SagaUnderTest<P>, 'saga' | 'params'>>,
  title?: string,
): SagaProof<P> {
  const make = async (): Promise<SagaUnderTest<P>> => {
    const at = await world();
    const cleanUp = async (): Promise<void> => {
      for (const dir of [at.dir, `${at.dir}-uploads`]) await rm(dir, { recursive: true, force: true });
    };
    return { records: at.records, ...(await prepare(at)), snapshot: snapshotOf(at), cleanUp };
  };
  return { ...(title === undefined ? {} : { title }), facts, make };
}

const networkConfig = { 'ipv4.address': '10.214.3.1/24', 'ipv6.address': 'none' };
const networkDocument = { v: 1, description: '', type: 'bridge', config: networkConfig, lifecycle: 'ready' } as const;

const backup = {
  v: 1,
  file: 'f',
  createdAt: '',
  expiresAt: '',
  containerOnly: false,
  optimizedStorage: false,
  sizeBytes: 0,
  lifecycle: 'ready',
} as const;

async function backupSaga(at: World) {
  await withPool(at);
  await withContainer(at, 'c');
  const idMaps = new IdMaps({ ...at, ids: await hostIds() });
  return createBackupSaga({ ...at, idMaps, clock: systemClock(), log: silentLog, dir: at.backupsDir });
}

export const hostProofs = {
  'container-create': [
    proof(undone, async (at) => {
      await withPool(at);
      return {
        saga: createContainerSaga(at),
        params: { name: 'c', document: container, source: { kind: 'empty' } as const },
      };
    }),
  ],
  'container-delete': [
    proof(oneWay, async (at) => {
      await withPool(at);
      await withContainer(at, 'c');
      return { saga: deleteContainerSaga(at), params: { name: 'c', pool: 'p' } };
    }),
  ],
  'backup-create': [
    proof(undone, async (at) => ({
      saga: await backupSaga(at),
      params: { container: 'c', uuid: '0', backup: 'b', document: backup, algorithm: 'none' },
    })),
    proof(
      undone,
      async (at) => {
        const saga = await backupSaga(at);
        const volume = { pool: 'p', name: 'v' };
        await at.pools.createVolume('p', { type: 'custom', name: 'v' }, { kind: 'empty' }, () => {}, signal);
        await at.records.commit((changes) =>
          changes.put('volumes', 'p/v', {
            v: 1,
            uuid: 'v-uuid',
            description: '',
            config: {},
            createdAt: '',
            lifecycle: 'ready',
          }),
        );
        return { saga, params: { volume, uuid: 'v-uuid', backup: 'b', document: backup, algorithm: 'none' } };
      },
      'of a volume',
    ),
  ],
  'container-rename': [
    proof(undone, async (at) => {
      await withPool(at);
      await withContainer(at, 'c');
      return { saga: renameContainerSaga(at), params: { from: 'c', to: 'd', pool: 'p' } };
    }),
    proof(
      undone,
      async (at) => {
        await withPool(at);
        await withProject(at, 'team');
        await withContainer(at, 'c');
        await mkdir(join(at.logsDir, 'c'));
        return { saga: renameContainerSaga(at), params: { from: 'c', to: 'team%c', pool: 'p' } };
      },
      'into another project',
    ),
  ],
  'network-create': [
    proof(undone, async (at) => ({ saga: createNetworkSaga(at), params: { name: 'n0', document: networkDocument } })),
  ],
  'network-delete': [
    proof(undone, async (at) => {
      await at.networks.create(trusted, { name: 'n0', config: networkConfig });
      return { saga: deleteNetworkSaga(at), params: { name: 'n0', document: networkDocument } };
    }),
  ],
  'network-rename': [
    proof(undone, async (at) => {
      await at.networks.create(trusted, { name: 'n0', config: networkConfig });
      return { saga: renameNetworkSaga(at), params: { name: 'n0', to: 'n1', document: networkDocument } };
    }),
  ],
  'pool-create': [
    proof(undone, async (at) => {
      const document = {
        v: 1,
        description: '',
        driver: 'dir',
        config: { source: join(at.dir, 'storage-pools/q') },
        lifecycle: 'ready',
      } as const;
      return { saga: createPoolSaga(at), params: { name: 'q', document } };
    }),
  ],
  'pool-delete': [
    proof(oneWay, async (at) => {
      await at.storagePools.create(trusted, { name: 'q', driver: 'dir' });
      const { document } = at.pools.find('q');
      return { saga: deletePoolSaga(at), params: { name: 'q', document } };
    }),
  ],
  'image-add': [
    proof(undone, async (at) => {
      // Outside the compared directory, since the upload is always removed afterwards.
      const uploads = `${at.dir}-uploads`;
      await mkdir(uploads);
      const metadataPath = join(uploads, 'one');
      await writeFile(metadataPath, 'x');
      return {
        saga: addImageSaga({ ...at, dir: at.imagesDir }),
        params: {
          fingerprint,
          document: image,
          metadataPath,
          rootfsPath: null,
          aliases: [{ name: 'a', description: '' }],
        },
      };
    }),
    proof(
      undone,
      async (at) => {
        const uploads = `${at.dir}-uploads`;
        await mkdir(uploads);
        const metadataPath = join(uploads, 'one');
        for (const path of [metadataPath, join(at.dir, 'images', fingerprint)]) await writeFile(path, 'x');
        await at.records.commit((changes) => {
          changes.put('images', fingerprint, image);
          changes.put('projects', 'other', { ...project, config: { 'features.images': 'true' } });
        });
        return {
          saga: addImageSaga({ ...at, dir: at.imagesDir }),
          params: {
            fingerprint: `other%${fingerprint}`,
            document: image,
            metadataPath,
            rootfsPath: null,
            aliases: [{ name: 'a', description: '' }],
          },
        };
      },
      'of an image that another project has',
    ),
  ],
  'image-delete': [
    proof(oneWay, async (at) => {
      await withPool(at);
      await writeFile(join(at.dir, 'images', fingerprint), 'x');
      await at.records.commit((changes) => {
        changes.put('images', fingerprint, image);
        changes.put('aliases', 'a', { v: 1, description: '', target: fingerprint });
      });
      return { saga: deleteImageSaga({ ...at, dir: at.imagesDir }), params: { fingerprint } };
    }),
    proof(
      undone,
      async (at) => {
        await withPool(at);
        await writeFile(join(at.dir, 'images', fingerprint), 'x');
        await at.records.commit((changes) => {
          changes.put('images', fingerprint, image);
          changes.put('images', `other%${fingerprint}`, image);
          changes.put('aliases', 'other%a', { v: 1, description: '', target: fingerprint });
        });
        return { saga: deleteImageSaga({ ...at, dir: at.imagesDir }), params: { fingerprint: `other%${fingerprint}` } };
      },
      'of an image that another project keeps',
    ),
  ],
  'project-rename': [
    proof(undone, async (at) => {
      await withPool(at);
      await withProject(at, 'old');
      for (const name of ['old%c', 'old%d', 'c']) {
        await withContainer(at, name);
        await mkdir(join(at.logsDir, name));
      }
      await at.pools.createVolume('p', { type: 'custom', name: 'old%v' }, { kind: 'empty' }, () => {}, signal);
      const volume = { v: 1, uuid: 'u', description: '', config: {}, createdAt: '', lifecycle: 'ready' } as const;
      const certificate = { v: 1, type: 'client', name: '', pem: '', projects: ['other', 'old'] } as const;
      await at.records.commit((changes) => {
        changes.put('volumes', 'p/old%v', volume);
        changes.put('images', `old%${fingerprint}`, image);
        changes.put('images', fingerprint, image);
        changes.put('aliases', 'old%a', { v: 1, description: '', target: fingerprint });
        changes.put('certificates', 'cc', certificate);
      });
      return { saga: renameProjectSaga(at), params: { name: 'old', to: 'new' } };
    }),
  ],
  'profile-rename': [
    proof(undone, async (at) => {
      await withPool(at);
      for (let start = 0; start < 150; start += 50) {
        await at.records.commit((changes) => {
          for (let index = start; index < start + 50; index += 1) changes.put('containers', `c${index}`, container);
        });
      }
      await at.records.commit((changes) =>
        changes.put('profiles', 'old', { v: 1, description: '', config: {}, devices: {} }),
      );
      for (let start = 0; start < 150; start += 50) {
        await at.records.commit((changes) => {
          for (let index = start; index < start + 50; index += 1)
            changes.put('containers', `c${index}`, { ...container, profiles: ['default', 'old'] });
        });
      }
      return { saga: renameProfileSaga(at), params: { name: 'old', to: 'new' } };
    }),
  ],
  'container-move': [
    proof({ restores: true, pointOfNoReturn: 'original' }, async (at) => {
      await withPool(at);
      await at.storagePools.create(trusted, { name: 'q', driver: 'dir' });
      await withContainer(at, 'c');
      await mkdir(join(at.logsDir, 'c'));
      const params = { from: { name: 'c', pool: 'p' }, to: { name: 'd', pool: 'q' }, snapshots: [] };
      return { saga: moveContainerSaga(at), params };
    }),
  ],
} satisfies Partial<SagaProofs>;
