// The suite of storage drivers on ZFS, whose module Debian ships only as source, and tests of pools that need a real ZFS.
import { expectMatch, expectSame, type Check } from '../check.ts';
import { apply, destroy } from './shell.ts';
import { momentsOf, on } from './storage.ts';
import { suiteCheck } from '../suite-disk.ts';

const documents = [
  'kind: storage_pool\nname: lane-zfs\ndriver: zfs\nconfig: { size: 512MiB }',
  on('on-zfs', 'lane-zfs'),
];

export const zfsChecks: readonly Check[] = [
  {
    name: 'the module of ZFS loads',
    vital: true,
    async run(host) {
      // By default ZFS waits for the disk at each 750 KB when 18 MB are left, which takes an emulated machine seconds.
      await host.run('modprobe zfs; echo 4 >/sys/module/zfs/parameters/spa_asize_inflation; modprobe loop max_loop=64');
      expectMatch(await host.run('cat /proc/filesystems'), /\tzfs$/m, 'the file systems');
    },
  },
  {
    name: 'a pool of zfs holds a container, whose root disk is as large as it says',
    async run(host) {
      expectMatch(await host.run(apply('zfs', documents.join('\n---\n'))), /Apply complete! 2 added/, 'apply');
      // ZFS frees the space of a removed file some seconds later.
      const fill =
        'dd if=/dev/urandom of=/root/much bs=1M count=64 conv=fsync 2>&1; rm /root/much; until echo x 2>/dev/null >/root/note; do sleep 0.2; done';
      const said = await host.run(`gantry exec on-zfs -- sh -c '${fill}'`, 600);
      expectMatch(said, /Disk quota exceeded|No space left/, 'what dd said');
    },
  },
  // ZFS before 2.2 stores files with the shifted ids of the container.
  momentsOf('on-zfs', '--optimized', 600),
  {
    name: 'the pool of zfs goes without a mount or ZFS pool left',
    async run(host) {
      await host.run(destroy('zfs'));
      expectSame(await host.run('zpool list -H; grep zfs /proc/self/mountinfo || true'), '', 'what is left');
    },
  },
  ...['pools of zfs', 'zfs, quota, clones', 'zfs, refquota, whole copies', 'zfs, block mode'].map((group) =>
    suiteCheck(group),
  ),
];
