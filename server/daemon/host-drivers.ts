// Chooses and opens the drivers for this host: real containers if it can run them, otherwise the simulation, with the reason.
import { join } from 'node:path';
import { refuseDamaged } from '../drivers/image/damage.ts';
import { unpackImage } from '../drivers/image/unpack.ts';
import type { HostPaths } from '../drivers/devices/host-paths.ts';
import type { ProxyKeeper } from '../drivers/devices/proxy/proxies.ts';
import type { NetworkDriver } from '../drivers/network/driver.ts';
import type { RuntimeDriver } from '../drivers/runtime/driver.ts';
import type { HostIds } from '../drivers/runtime/idmap/id-map.ts';
import { dirTag } from '../drivers/runtime/safe-names.ts';
import { btrfsMissing, openBtrfsStorage } from '../drivers/storage/btrfs/btrfs.ts';
import { cephMissing, openCephStorage } from '../drivers/storage/ceph/ceph.ts';
import { cephfsMissing, openCephfsStorage } from '../drivers/storage/cephfs/cephfs.ts';
import { lvmMissing, openLvmStorage } from '../drivers/storage/lvm/lvm.ts';
import { openZfsStorage, zfsMissing } from '../drivers/storage/zfs/zfs.ts';
import { openDirStorage } from '../drivers/storage/dir.ts';
import type { StorageDriver, UnpackImage } from '../drivers/storage/driver.ts';
import type { ClusterPart } from '../drivers/storage/shared-place.ts';
import type { Log } from '../lib/log.ts';
import { makeFolder } from '../lib/shared/make-folder.ts';

export type RuntimeChoice = 'auto' | 'lxc' | 'sim';

export interface HostDrivers {
  readonly runtime: RuntimeDriver;
  readonly network: NetworkDriver;
  readonly proxies: ProxyKeeper;
  /** What looks after the host each minute. */
  readonly looks: readonly { look(): Promise<void> }[];
  readonly storage: Readonly<Record<string, StorageDriver>>;
  readonly storageMissing?: Readonly<Record<string, string>>;
  readonly ids: HostIds;
  /** Where devices find host files; default: this host's paths. */
  readonly paths?: HostPaths;
  /** Architectures that the host runs, its own first; default: those of this host. */
  readonly architectures?: readonly [string, ...string[]];
  readonly reason: string;
  close(): Promise<void>;
}

export interface HostDriverOptions {
  readonly choice: RuntimeChoice;
  readonly stateDir: string;
  readonly log: Log;
  /** This host's current part in its cluster; undefined: none. */
  readonly cluster: () => ClusterPart | undefined;
}

export async function openHostDrivers(options: HostDriverOptions): Promise<HostDrivers> {
  const { choice, stateDir, log, cluster } = options;
  const root = join(stateDir, 'storage-pools');
  await makeFolder(root, 0o711);
  const isRoot = process.getuid?.() === 0;
  const shared = { root, log, unpackImage: unpackWhole };
  const dir = openDirStorage({ ...shared, cluster, ownership: isRoot ? 'keep' : 'ignore' });
  const { usable, missing: storageMissing } = await usableDrivers(shared);
  const storage: Readonly<Record<string, StorageDriver>> = { dir, ...usable };
  const decided = await decide(choice);
  const opened = decided.runtime === 'lxc' ? await openReal(stateDir, root, log) : await openSimulated(stateDir);
  return {
    ...opened,
    storage,
    storageMissing,
    reason: decided.reason,
    close: async () => {
      opened.close?.();
      await opened.runtime.close();
      await opened.network.close();
      for (const driver of Object.values(storage)) await driver.close?.();
    },
  };
}

/** Drivers that need more than directories, each with a check for why this host cannot have it. */
const drivers = {
  btrfs: [btrfsMissing, openBtrfsStorage],
  lvm: [lvmMissing, openLvmStorage],
  zfs: [zfsMissing, openZfsStorage],
  ceph: [cephMissing, openCephStorage],
  cephfs: [cephfsMissing, openCephfsStorage],
} as const;

async function usableDrivers(deps: SharedDeps): Promise<{
  readonly usable: Readonly<Record<string, StorageDriver>>;
  readonly missing: Readonly<Record<string, string>>;
}> {
  const looked = await Promise.all(
    Object.entries(drivers).map(async ([name, [missing, open]]) => [name, await missing(), open] as const),
  );
  return {
    usable: Object.fromEntries(looked.flatMap(([name, why, open]) => (why === undefined ? [[name, open(deps)]] : []))),
    missing: Object.fromEntries(looked.flatMap(([name, why]) => (why === undefined ? [] : [[name, why]]))),
  };
}

interface SharedDeps {
  readonly root: string;
  readonly log: Log;
  readonly unpackImage: UnpackImage;
}

/** An image is unpacked once per pool: damage in its file would spread to every container made of it. */
const unpackWhole: UnpackImage = async (image, target, options, signal) => {
  await refuseDamaged(image, signal);
  await unpackImage(image, target, options, signal);
};

/** `lxc` throws if it is not possible; `auto` falls back. Loads the real drivers only if they are used. */
async function decide(choice: RuntimeChoice): Promise<{ readonly runtime: 'lxc' | 'sim'; readonly reason: string }> {
  if (choice === 'sim') return { runtime: 'sim', reason: 'asked for with --runtime sim' };
  const { lxcAvailable } = await import('../drivers/runtime/lxc/host.ts');
  const lxc = await lxcAvailable();
  const missing = lxc.ok ? await missingNetwork() : lxc.reason;
  if (missing === undefined) {
    return {
      runtime: 'lxc',
      reason: choice === 'lxc' ? 'asked for with --runtime lxc' : 'this host can run real containers',
    };
  }
  if (choice === 'lxc') throw new Error(`--runtime lxc is not possible here: ${missing}`);
  return { runtime: 'sim', reason: `real containers are not possible here: ${missing}` };
}

async function missingNetwork(): Promise<string | undefined> {
  const { bridgeAvailable } = await import('../drivers/network/bridge.ts');
  const bridge = await bridgeAvailable();
  return bridge.ok ? undefined : bridge.reason;
}

type OpenDrivers = Pick<HostDrivers, 'runtime' | 'network' | 'proxies' | 'ids' | 'looks'> & {
  readonly close?: () => void;
};

async function openReal(stateDir: string, probeDir: string, log: Log): Promise<OpenDrivers> {
  const [{ openLxcRuntime }, { hostIds }, { openBridgeNetwork }] = await Promise.all([
    import('../drivers/runtime/lxc/lxc.ts'),
    import('../drivers/runtime/idmap/id-map.ts'),
    import('../drivers/network/bridge.ts'),
  ]);
  const { NftTables } = await import('../drivers/nft-tables.ts');
  const { Proxies } = await import('../drivers/devices/proxy/proxies.ts');
  const { returnFreedMemory } = await import('../drivers/runtime/host/return-memory.ts');
  const tables = new NftTables(log);
  const runtime = await openLxcRuntime({ dir: join(stateDir, 'runtime'), log, tables, probeDir });
  const network = openBridgeNetwork({ dir: join(stateDir, 'networks'), log, tables });
  const proxies = new Proxies({ log, tables, tag: dirTag(stateDir) });
  return {
    runtime,
    network,
    proxies,
    looks: [tables, runtime],
    ids: await hostIds(),
    close: await returnFreedMemory(),
  };
}

/** The range of a host without /etc/subuid. Files stay the daemon's own. */
export const simRange = { start: 1_000_000, count: 1_000_000_000 };
const simIds: HostIds = { uids: simRange, gids: simRange, allowed: { uid: [simRange], gid: [simRange] } };

async function openSimulated(stateDir: string): Promise<OpenDrivers> {
  const [{ openSimRuntime }, { openSimNetwork }] = await Promise.all([
    import('../drivers/runtime/sim/sim.ts'),
    import('../drivers/network/sim.ts'),
  ]);
  const network = openSimNetwork({ dir: join(stateDir, 'networks') });
  const runtime = await openSimRuntime({
    dir: join(stateDir, 'runtime'),
    addressesOf: ({ link, hwaddr }) =>
      link === undefined || hwaddr === undefined ? [] : network.addressesFor(link, { hwaddr }),
  });
  const { SimProxies } = await import('../drivers/devices/proxy/sim-proxies.ts');
  const { returnFreedMemory } = await import('../drivers/runtime/host/return-memory.ts');
  // Loading the C library calls would take more memory here than they return.
  const close = await returnFreedMemory({ load: () => Promise.resolve(undefined) });
  return { runtime, network, proxies: new SimProxies(), looks: [], ids: simIds, close };
}
