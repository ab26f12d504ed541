// Opens the ceph storage driver on a private cluster; closing removes all. Without RBD in the kernel, qemu-storage-daemon and loop devices replace it.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { unpackImage } from '../../../server/drivers/image/unpack.ts';
import { openCephStorage } from '../../../server/drivers/storage/ceph/ceph.ts';
import { kernelDevices, type MappedImage, type RbdDevices } from '../../../server/drivers/storage/ceph/devices.ts';
import type { StorageDriver } from '../../../server/drivers/storage/driver.ts';
import { silentLog } from '../../../server/lib/log.ts';
import type { StorageFixture } from '../../conformance/storage-world.ts';
import { buildBusyboxImage } from '../images/busybox.ts';
import { startCluster, type CephCluster } from './ceph-cluster.ts';
import { unmountBelow } from '../hosts/mounts.ts';

const run = (...argv: readonly [string, ...string[]]): string =>
  execFileSync(argv[0], argv.slice(1), { encoding: 'utf8', stdio: 'pipe' }).trim();

export interface FuseDevices extends RbdDevices {
  readonly closeAll: () => void;
}

interface Served extends MappedImage {
  readonly file: string;
  readonly pid: number;
}

/** Each image is a file that a QEMU program exports over FUSE, with a loop device on it. */
export function fuseDevices(base: string, cluster: CephCluster, host = 'this'): FuseDevices {
  const fsid = cluster.run('ceph', 'fsid');
  const mapped = new Map<string, Served>();
  let count = 0;
  const unmap = ({ device, file, pid, image }: Served): void => {
    run('losetup', '--detach', device);
    process.kill(pid, 'SIGTERM');
    waitFor(() => !existsSync(`/proc/${pid}`));
    rmSync(file);
    mapped.delete(image);
  };
  return {
    list: () => Promise.resolve([...mapped.values()]),
    map: async (_cluster, image, readOnly) => {
      const [pool = '', name = ''] = image.split('/');
      count += 1;
      const file = join(base, `mapped-${host}-${count}`);
      writeFileSync(file, '');
      const [pidFile, write] = [`${file}.pid`, readOnly ? 'off' : 'on'];
      const disk = `driver=rbd,node-name=n,pool=${pool},image=${name},conf=/etc/ceph/${cluster.name}.conf,user=admin`;
      run(
        'qemu-storage-daemon',
        '--daemonize',
        `--pidfile=${pidFile}`,
        `--blockdev=${disk},read-only=${readOnly ? 'on' : 'off'},discard=unmap`,
        `--export=type=fuse,id=e,node-name=n,mountpoint=${file},writable=${write},growable=${write}`,
      );
      const pid = Number(readFileSync(pidFile, 'utf8'));
      const device = run('losetup', '--find', '--show', ...(readOnly ? ['--read-only'] : []), file);
      mapped.set(image, { fsid, image, device, file, pid });
      return Promise.resolve(device);
    },
    unmap: async (device) => {
      const found = [...mapped.values()].find((each) => each.device === device);
      if (found !== undefined) unmap(found);
      return Promise.resolve();
    },
    resized: async (image, bytes) => {
      const found = mapped.get(image);
      if (found === undefined) return Promise.resolve();
      run('truncate', `--size=${bytes}`, found.file);
      run('losetup', '--set-capacity', found.device);
      return Promise.resolve();
    },
    closeAll: () => {
      for (const each of mapped.values()) unmap(each);
    },
  };
}

function waitFor(isDone: () => boolean): void {
  for (let left = 200; !isDone(); left -= 1) {
    if (left === 0) throw new Error('it takes too long');
    spawnSync('sleep', ['0.05']);
  }
}

/** A new folder for a cluster, in memory if possible, since each of its synced writes takes long on a busy disk. */
export const clusterFolder = (): Promise<string> =>
  mkdtemp(join(existsSync('/dev/shm') && totalmem() > 8 * 1024 ** 3 ? '/dev/shm' : tmpdir(), 'gantry-ceph-'));

const hasKernel = existsSync('/sys/bus/rbd');

export interface CephFixture extends StorageFixture {
  readonly base: string;
  readonly cluster: CephCluster;
  readonly devices: RbdDevices;
  /** Opens the driver of another daemon, which does not know the mapped images of another host. */
  readonly other: (state: string, at?: 'another host') => StorageDriver;
}

export async function openCephFixture(config: Readonly<Record<string, string>>): Promise<CephFixture> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'gantry-ceph-')));
  const kept = await clusterFolder();
  const cluster = startCluster(`gantry${process.pid}`, join(kept, 'cluster'));
  const devices = hasKernel ? undefined : fuseDevices(base, cluster);
  let unpacked = 0;
  let pools = 0;
  const elsewhere = hasKernel ? undefined : fuseDevices(base, cluster, 'other');
  const open = (state: string, at?: 'another host'): StorageDriver =>
    openCephStorage({
      root: join(base, state, 'storage-pools'),
      log: silentLog,
      ...(devices === undefined || elsewhere === undefined ? {} : { devices: at === undefined ? devices : elsewhere }),
      unpackImage: (image, target, options, signal) => {
        unpacked += 1;
        return unpackImage(image, target, options, signal);
      },
    });
  await mkdir(join(base, 'state', 'storage-pools'), { recursive: true });
  const storage = open('state');
  return {
    base,
    cluster,
    devices: devices ?? kernelDevices,
    storage,
    other: open,
    newPool: () => {
      pools += 1;
      const own = { 'ceph.cluster_name': cluster.name, 'ceph.osd.pg_num': '4', 'volume.size': '48MiB', ...config };
      return { name: `pool${pools}`, driver: 'ceph', config: own };
    },
    // Every new pool would be another OSD pool.
    reusesPools: true,
    image: await buildBusyboxImage(join(base, 'images'), { compression: 'zstd' }),
    imageFile: { path: 'etc/hostname', content: 'busybox\n' },
    unpacked: () => unpacked,
    close: async () => {
      await storage.close?.();
      unmountBelow(join(base, 'state'));
      unmountBelow(join(base, 'elsewhere'));
      for (const each of [devices, elsewhere]) each?.closeAll();
      if (devices === undefined)
        spawnSync('sh', ['-c', `for each in /dev/rbd[0-9]*; do rbd device unmap "$each"; done`]);
      cluster.close();
      unmountBelow(base);
      for (const each of [base, kept]) await rm(each, { recursive: true, force: true });
    },
  };
}
