// The suite of storage drivers on LVM, which needs a device mapper, and tests of pools that need a real LVM.
import type { Check } from '../check.ts';
import { installing } from '../packages-disk.ts';
import { suiteCheck } from '../suite-disk.ts';

export const lvmPackages = ['lvm2', 'thin-provisioning-tools', 'xfsprogs', 'btrfs-progs'];

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
    (group) => suiteCheck(group),
  ),
];
