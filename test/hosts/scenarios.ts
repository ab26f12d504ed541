// The machines that the lane boots on each release: additions to the product, and the checks.
import type { Check } from './check.ts';
import type { ExtraFile } from './extras-disk.ts';
import type { DiskCache } from './machine.ts';
import { cephExtra, zfsExtra, type Extra } from './releases.ts';
import { besideChecks, besidePackages } from './checks/beside-lxd.ts';
import { confinementChecks } from './checks/confinement.ts';
import { cephChecks, clusterCheck } from './checks/ceph.ts';
import { cephfsChecks } from './checks/cephfs.ts';
import { checkpointChecks, checkpointPackages } from './checks/checkpoints.ts';
import { lifeChecks, startChecks } from './checks/containers.ts';
import { deviceChecks } from './checks/devices.ts';
import { quotaChecks, quotaPackages } from './checks/dir-quotas.ts';
import { fenceChecks } from './checks/fences.ts';
import { guestChecks } from './checks/guest.ts';
import { installChecks } from './checks/install.ts';
import { kindChecks } from './checks/kinds.ts';
import { limitChecks } from './checks/limits.ts';
import { linkChecks, switchChecks, switchPackages } from './checks/links.ts';
import { lvmChecks, lvmPackages } from './checks/lvm.ts';
import { migrateChecks, migratePackages } from './checks/migrate.ts';
import { neighbourChecks, neighbourPackages } from './checks/neighbours.ts';
import { powerCutChecks } from './checks/power-cuts.ts';
import { zfsChecks } from './checks/zfs.ts';
import { storageChecks } from './checks/storage.ts';
import { teamChecks } from './checks/teams.ts';
import { terraformChecks } from './checks/terraform.ts';
import { recommendedPackages, upgradeChecks } from './checks/upgrade.ts';

export interface Scenario {
  readonly name: string;
  /** Only with --long, or named by --only. */
  readonly long: boolean;
  /** Packages of the release that checks install, on a separate disk. */
  readonly packages: readonly string[];
  /** Files on the disk of extras. */
  readonly extras?: readonly ExtraFile[];
  /** Additions to its base tree. */
  readonly base?: Extra;
  /** Attaches the disk with the suite of storage drivers. */
  readonly suite?: boolean;
  /** Starts a cluster of Ceph on this machine, which its network reaches. */
  readonly cluster?: boolean;
  /** The cache mode of its disk; default unsafe. */
  readonly cache?: DiskCache;
  readonly checks: readonly Check[];
}

export const scenarios: readonly Scenario[] = [
  {
    name: 'life',
    long: false,
    packages: [],
    checks: [...installChecks, ...startChecks, ...confinementChecks, ...fenceChecks, ...lifeChecks],
  },
  {
    name: 'kinds',
    long: true,
    packages: [],
    extras: ['debian.tar.gz'],
    checks: [
      ...installChecks,
      ...startChecks,
      ...kindChecks,
      ...limitChecks,
      ...deviceChecks,
      ...storageChecks,
      ...teamChecks,
      ...guestChecks,
    ],
  },
  {
    name: 'terraform',
    long: true,
    packages: [],
    extras: ['terraform'],
    checks: [...installChecks, ...terraformChecks],
  },
  { name: 'upgrade', long: true, packages: recommendedPackages, checks: upgradeChecks },
  { name: 'lvm', long: true, packages: lvmPackages, suite: true, checks: [...installChecks, ...lvmChecks] },
  {
    name: 'links',
    long: true,
    packages: switchPackages,
    checks: [...installChecks, ...startChecks, ...linkChecks, ...switchChecks],
  },
  {
    // Passed as a whole on Debian 12.
    name: 'quotas',
    long: true,
    packages: quotaPackages,
    suite: true,
    checks: [...installChecks, ...startChecks, ...quotaChecks],
  },
  {
    // On Debian 12 `pools of zfs` and the suite with clones, with whole copies and in block mode passed, each as a whole (8 to 30 minutes
    // beside other work).
    name: 'zfs',
    long: true,
    packages: [],
    base: zfsExtra,
    suite: true,
    checks: [...installChecks, ...startChecks, ...zfsChecks],
  },
  {
    name: 'beside-lxd',
    long: true,
    packages: besidePackages,
    base: zfsExtra,
    extras: ['debian.tar.gz'],
    checks: [...installChecks, ...besideChecks],
  },
  { name: 'migrate', long: true, packages: migratePackages, checks: [...installChecks, ...migrateChecks] },
  {
    name: 'neighbours',
    long: true,
    packages: neighbourPackages,
    checks: [...installChecks, ...startChecks, ...neighbourChecks],
  },
  {
    name: 'ceph',
    long: true,
    packages: [],
    base: cephExtra,
    cluster: true,
    suite: true,
    checks: [...installChecks, ...startChecks, ...cephChecks],
  },
  {
    name: 'cephfs',
    long: true,
    packages: [],
    base: cephExtra,
    cluster: true,
    suite: true,
    checks: [...installChecks, ...startChecks, clusterCheck, ...cephfsChecks],
  },
  {
    name: 'checkpoints',
    long: true,
    packages: checkpointPackages,
    checks: [...installChecks, ...startChecks, ...checkpointChecks],
  },
  {
    name: 'power-cuts',
    long: true,
    packages: [],
    cache: 'writeback',
    checks: [...installChecks, ...startChecks, ...powerCutChecks],
  },
];
