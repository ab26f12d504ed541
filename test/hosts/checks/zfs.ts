// The suite of storage drivers on ZFS, whose module Debian has as source only, and what only a real ZFS shows of pools.
import { expectMatch, type Check } from '../check.ts';
import { runSuite } from '../suite-disk.ts';

/** Emulated, each group of the suite takes many minutes. */
const groupSeconds = 5_400;

export const zfsChecks: readonly Check[] = [
  {
    name: 'the module of ZFS loads',
    vital: true,
    async run(host) {
      await host.run('modprobe zfs');
      expectMatch(await host.run('cat /proc/filesystems'), /\tzfs$/m, 'the file systems');
    },
  },
  ...['pools of zfs', 'zfs, quota, clones', 'zfs, refquota, whole copies'].map((group): Check => ({
    name: `the suite of storage drivers passes: ${group}`,
    async run(host) {
      expectMatch(await host.run(`${runSuite(group)} 2>&1`, groupSeconds), /^[1-9]\d* passed, 0 failed$/m, 'the suite');
    },
  })),
];
