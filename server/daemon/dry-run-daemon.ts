// A twin: a daemon in this process that holds what another one shows, and nothing of it outside: records in memory, simulated
// containers, no files of images. What is done to it says what the other one would answer, as far as its host has no say in it.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { poolDrivers } from '../api/storage/pool.ts';
import type { Container } from '../api/container/container.ts';
import { statusCodes } from '../api/status.ts';
import type { World, WorldHost } from '../api/server/server-contents.ts';
import { startDaemon } from './daemon.ts';
import { SimProxies } from '../drivers/devices/proxy/sim-proxies.ts';
import { thisHost } from '../drivers/devices/host-paths.ts';
import type { HostInterface } from '../drivers/network/driver.ts';
import { openSimNetwork } from '../drivers/network/sim.ts';
import type { HostFacts } from '../drivers/runtime/cgroup/limits.ts';
import { heldRecords, type SimRunningRecord } from '../drivers/runtime/sim/running-record.ts';
import { openSimRuntime } from '../drivers/runtime/sim/sim.ts';
import { openPretendedStorage } from '../drivers/storage/dry-run.ts';
import { simRange, type HostDrivers } from './host-drivers.ts';
import { silentLog } from '../lib/log.ts';
import { isUp, writeWorld } from '../records/from-server-contents.ts';
import { openMemoryStore } from '../store/memory.ts';

export interface Twin {
  readonly socketPath: string;
  /** With all that there was of it. */
  stop(): Promise<void>;
}

export async function startTwin(world: World): Promise<Twin> {
  const stateDir = await mkdtemp(join(tmpdir(), 'gantry-twin-'));
  const remove = (): Promise<void> => rm(stateDir, { recursive: true, force: true });
  try {
    // Nobody watches: history would be a second copy of everything.
    const store = openMemoryStore({ maxRevisions: 1 });
    await writeWorld(store, world);
    const daemon = await startDaemon({
      stateDir,
      runtime: 'sim',
      log: () => silentLog,
      drivers: () => openTwinHost(stateDir, world),
      copy: store,
    });
    return {
      socketPath: daemon.socketPath,
      stop: async () => {
        await daemon.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function openTwinHost(stateDir: string, world: World): Promise<HostDrivers> {
  const nowhere = join(stateDir, 'no-files');
  await mkdir(nowhere);
  const network = openSimNetwork({ interfaces: interfacesOf(world) });
  const runtime = await openSimRuntime({
    dir: join(stateDir, 'runtime'),
    states: heldRecords(world.containers.filter(isUp).map((container) => stateOf(container, nowhere))),
    host: factsOf(world.host),
    addressesOf: ({ link, hwaddr }) =>
      link === undefined || hwaddr === undefined ? [] : network.addressesFor(link, { hwaddr }),
  });
  const known = poolDrivers.filter((name) => world.host.poolDrivers.includes(name));
  const root = join(stateDir, 'storage-pools');
  // Which ids are lent to containers no list shows.
  const anyId = [{ start: 0, count: 2 ** 32 - 1 }];
  return {
    runtime,
    network,
    proxies: new SimProxies(),
    storage: Object.fromEntries(known.map((name) => [name, openPretendedStorage({ root, name })])),
    ids: { uids: simRange, gids: simRange, allowed: { uid: anyId, gid: anyId } },
    paths: { ...thisHost, isElsewhere: true },
    reason: 'it is a copy',
    close: async () => {
      await runtime.close();
      await network.close();
    },
  };
}

/** The bridges that it manages come up by themselves. */
function interfacesOf({ networks }: World): readonly HostInterface[] {
  const types = ['bridge', 'physical', 'loopback', 'vlan', 'bond'] as const;
  return networks
    .filter(({ managed, type }) => !managed || type !== 'bridge')
    .map(({ name, type }) => ({ name, type: types.find((one) => one === type) ?? 'unknown' }));
}

/** `nowhere`: an empty directory in the place of files that are the other host's. */
function stateOf(container: Container, nowhere: string): SimRunningRecord {
  const { name, architecture, expanded_config: config, expanded_devices: devices } = container;
  const run = {
    name,
    hostname: name,
    architecture,
    config,
    rootfs: nowhere,
    logDir: nowhere,
    idmap: [],
    nics: [],
    mounts: [],
  };
  return {
    run: { ...run, properties: devices },
    status: container.status_code === statusCodes.frozen ? 'frozen' : 'running',
    initPid: 0,
    startedAt: 0,
    limits: Object.fromEntries(Object.entries(config).filter(([key]) => key.startsWith('limits.'))),
  };
}

/** More than any host has where it is not known how much this one has. */
const factsOf = ({ cpus, memoryBytes }: WorldHost): HostFacts => ({
  onlineCpus: Array.from({ length: cpus ?? 4096 }, (_, index) => index),
  memoryBytes: memoryBytes ?? 2 ** 50,
  hasMemsw: true,
  hugePages: ['64KB', '2MB', '1GB'],
});
