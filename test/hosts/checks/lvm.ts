// The suite of storage drivers on LVM, which needs a device mapper, and tests of pools that need a real LVM.
import { expectMatch, type Check } from '../check.ts';
import { installing } from '../packages-disk.ts';
import { runSuite } from '../suite-disk.ts';

export const lvmPackages = ['lvm2', 'thin-provisioning-tools', 'xfsprogs', 'btrfs-progs'];

/** A file system on thin volumes takes 34 minutes under emulation. */
const groupSeconds = 5_400;

export const lvmChecks: readonly Check[] = [
  {
    name: 'the packages of LVM install',
    vital: true,
    async run(host) {
      await host.run(installing(...lvmPackages), 900);
      await host.run('modprobe dm_thin_pool; modprobe loop max_loop=64');
    },
  },
  ...['lvm pools', 'lvm faults', 'lvm, thin, ext4', 'lvm, thin, xfs', 'lvm, thin, btrfs', 'lvm, thick, ext4'].map(
    (group): Check => ({
      name: `the suite of storage drivers passes: ${group}`,
      async run(host) {
        expectMatch(
          await host.run(`${runSuite(group)} 2>&1`, groupSeconds),
          /^[1-9]\d* passed, 0 failed$/m,
          'the suite',
        );
      },
    }),
  ),
];
