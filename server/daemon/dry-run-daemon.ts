// A daemon for dry runs: in this process, with another server's contents in memory, simulated containers and no files. It answers a change
// as that server would, as far as the host does not matter.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { poolDrivers } from '../api/storage/pool.ts';
import { architectures } from '../api/image/architectures.ts';
import type { Container } from '../api/container/container.ts';
import { statusCodes } from '../api/status.ts';
import type { InProject, ServerContents, ServerHost } from '../api/server/server-contents.ts';
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
import { isUp, nameIn, writeContents } from '../records/from-server-contents.ts';
import { openMemoryStore } from '../store/memory/memory.ts';

export interface DryRunDaemon {
  readonly socketPath: string;
  /** Also removes its files. */
  stop(): Promise<void>;
}

export async function startDryRunDaemon(contents: ServerContents): Promise<DryRunDaemon> {
  const stateDir = await mkdtemp(join(tmpdir(), 'gantry-dry-run-'));
  const remove = (): Promise<void> => rm(stateDir, { recursive: true, force: true });
  try {
    // Without watchers, history would only be a second copy of everything.
    const store = openMemoryStore({ maxRevisions: 1 });
    await writeContents(store, contents);
    const daemon = await startDaemon({
      stateDir,
      runtime: 'sim',
      log: silentLog,
      drivers: () => openDryRunHost(stateDir, contents),
      dryRun: store,
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

async function openDryRunHost(stateDir: string, contents: ServerContents): Promise<HostDrivers> {
  const nowhere = join(stateDir, 'no-files');
  await mkdir(nowhere);
  const network = openSimNetwork({ interfaces: interfacesOf(contents) });
  const runtime = await openSimRuntime({
    dir: join(stateDir, 'runtime'),
    states: heldRecords(contents.containers.filter(isUp).map((container) => stateOf(container, nowhere))),
    host: factsOf(contents.host),
    addressesOf: ({ link, hwaddr }) =>
      link === undefined || hwaddr === undefined ? [] : network.addressesFor(link, { hwaddr }),
  });
  const known = poolDrivers.filter((name) => contents.host.poolDrivers.includes(name));
  const root = join(stateDir, 'storage-pools');
  // No list shows the ids of containers on that host.
  const anyId = [{ start: 0, count: 2 ** 32 - 1 }];
  return {
    runtime,
    network,
    proxies: new SimProxies(),
    looks: [],
    storage: Object.fromEntries(known.map((name) => [name, openPretendedStorage({ root, name })])),
    ids: { uids: simRange, gids: simRange, allowed: { uid: anyId, gid: anyId } },
    paths: { ...thisHost, isOtherHost: true },
    architectures: architecturesOf(contents.host),
    reason: 'it is a dry run',
    close: async () => {
      await runtime.close();
      await network.close();
    },
  };
}

/** Its managed bridges come up by themselves. */
function interfacesOf({ networks }: ServerContents): readonly HostInterface[] {
  const types = ['bridge', 'physical', 'loopback', 'vlan', 'bond'] as const;
  return networks
    .filter(({ managed, type }) => !managed || type !== 'bridge')
    .map(({ name, type }) => ({ name, type: types.find((one) => one === type) ?? 'unknown' }));
}

/** `nowhere`: an empty directory in place of the other host's files. */
function stateOf(container: InProject<Container>, nowhere: string): SimRunningRecord {
  const { name, project, architecture, expanded_config: config, expanded_devices: devices } = container;
  const run = {
    name: nameIn(project, name),
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

/** Every architecture if those of the host are unknown. */
function architecturesOf({
  architectures: known = Object.keys(architectures),
}: ServerHost): readonly [string, ...string[]] {
  const [own = 'x86_64', ...others] = known;
  return [own, ...others];
}

/** More than any host has if the host's amount is unknown. */
const factsOf = ({ cpus, memoryBytes }: ServerHost): HostFacts => ({
  onlineCpus: Array.from({ length: cpus ?? 4096 }, (_, index) => index),
  memoryBytes: memoryBytes ?? 2 ** 50,
  hasMemsw: true,
  hugePages: ['64KB', '2MB', '1GB'],
});
