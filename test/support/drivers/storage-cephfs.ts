// Opens the cephfs storage driver on a private CephFS; closing removes all. Without the kernel module, ceph-fuse replaces it: a dead FUSE
// mount stalls `sync` of the whole host, so everything is unmounted before the cluster ends.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackImage } from '../../../server/drivers/image/unpack.ts';
import { openCephfsStorage } from '../../../server/drivers/storage/cephfs/cephfs.ts';
import type { CephfsMounts } from '../../../server/drivers/storage/cephfs/pool.ts';
import type { StorageDriver } from '../../../server/drivers/storage/driver.ts';
import { silentLog } from '../../../server/lib/log.ts';
import type { StorageFixture } from '../../conformance/storage-world.ts';
import { buildBusyboxImage } from '../images/busybox.ts';
import { fileSystemScript, startCluster, type CephCluster } from './ceph-cluster.ts';
import { clusterFolder } from './storage-ceph.ts';
import { mountsBelow } from '../hosts/mounts.ts';
import { until } from '../until.ts';

const hasKernel = spawnSync('modprobe', ['ceph']).status === 0;

const fuseMounts: CephfsMounts = {
  mount: ({ cluster, fileSystem, path }, target) => {
    const where = ['--cluster', cluster.name, '--id', cluster.user, '--client_fs', fileSystem, '-r', path];
    execFileSync('ceph-fuse', [...where, target], { stdio: 'pipe', timeout: 120_000 });
    return Promise.resolve();
  },
};

export interface CephfsFixture extends StorageFixture {
  readonly base: string;
  readonly cluster: CephCluster;
  /** Opens the driver of another daemon. */
  readonly other: (state: string) => StorageDriver;
}

export async function openCephfsFixture(): Promise<CephfsFixture> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'gantry-cephfs-')));
  const kept = await clusterFolder();
  const cluster = startCluster(`gantryfs${process.pid}`, join(kept, 'cluster'));
  let [unpacked, pools] = [0, 0];
  const open = (state: string): StorageDriver =>
    openCephfsStorage({
      root: join(base, state, 'storage-pools'),
      log: silentLog,
      ...(hasKernel ? {} : { mounts: fuseMounts }),
      unpackImage: (image, target, options, signal) => {
        unpacked += 1;
        return unpackImage(image, target, options, signal);
      },
    });
  const close = async (): Promise<void> => {
    for (const target of mountsBelow(base).toReversed()) execFileSync('umount', [target]);
    // ceph-fuse must flush before the cluster ends.
    await until(() => spawnSync('pgrep', ['-f', `ceph-fuse --cluster ${cluster.name} `]).status !== 0);
    cluster.close();
    for (const each of [base, kept]) await rm(each, { recursive: true, force: true });
  };
  try {
    execFileSync('sh', ['-c', fileSystemScript, 'sh', cluster.name], { stdio: 'pipe', timeout: 600_000 });
    for (const state of ['state', 'elsewhere']) await mkdir(join(base, state, 'storage-pools'), { recursive: true });
    const storage = open('state');
    return {
      base,
      cluster,
      storage,
      other: open,
      newPool: () => {
        pools += 1;
        const config = { 'cephfs.cluster_name': cluster.name, source: `files/pools/${pools}` };
        return { name: `pool${pools}`, driver: 'cephfs', config };
      },
      reusesPools: true,
      limitsLate: true,
      hidesHoles: true,
      image: await buildBusyboxImage(join(base, 'images'), { compression: 'zstd' }),
      imageFile: { path: 'etc/hostname', content: 'busybox\n' },
      unpacked: () => unpacked,
      close: async () => {
        await storage.close?.();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
