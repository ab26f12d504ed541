// Test files that the usual run skips, because each takes long and repeats as a whole what others show in parts. `npm run test:long` runs
// them and the tests that the usual run shortens; GANTRY_LONG=1 adds both to any run, and naming a file runs it.
import { readdirSync, readFileSync } from 'node:fs';

export const longRuns: readonly string[] = [
  // Members frozen on real containers, with real time limits; healing.test.ts has it on the simulation, guard.test.ts with real control groups.
  'test/e2e/cluster/healing-lxc.test.ts',
  // Three stock LXD servers as a cluster; cluster-members.test.ts has one, adopt-cluster.test.ts volumes of one name.
  'test/e2e/documents/stock-cluster.test.ts',
  // The same for Terraform; terraform/stock-lxd.test.ts has a cluster of one, terraform/cluster/places.test.ts one of gantryd.
  'test/e2e/terraform/cluster/stock-lxd.test.ts',
  // Loads on etcds that are restarted one after the other; single restarts are in membership.test.ts.
  'test/server/membership/etcd/rolling.test.ts',
  // The hosts of cluster tests, and clocks and disks for faults; three-hosts.test.ts uses the hosts, `npm run faults` all of them.
  'test/server/membership/hosts.test.ts',
  // A real debootstrap takes minutes; first-container.test.ts has the rest of gantry init, systemd-guest.test.ts a Debian that boots.
  'test/e2e/examples/first-debian.test.ts',
  // A cluster of Ceph and the suite of all drivers on it take a quarter of an hour; blocks.test.ts has what volumes with file systems share.
  'test/server/drivers/storage/ceph.test.ts',
  // The same for CephFS, on mounts of FUSE, which stall `sync` of the whole host should their cluster die; zfs shares its trees.
  'test/server/drivers/storage/cephfs.test.ts',
  // The keys of a cluster under members that are frozen; keys-killed.test.ts has members that are killed or away, frozen.test.ts one that is frozen.
  'test/e2e/cluster/members/keys-frozen.test.ts',
  // Kills at each step of what from-lxd.test.ts (one host), stock-lxd-btrfs.test.ts and migration/daemon-killed.test.ts show.
  'test/e2e/moving/other-host.test.ts',
  'test/server/services/transfer/migration/stock-lxd-killed.test.ts',
  // Kills during a recovery; services/recovery has recoveries, kill/steps.test.ts and kill/converge.test.ts kills.
  'test/e2e/kill/lost-records.test.ts',
  // Kills of a controller amid its hooks; controller/kills.test.ts has kills, hooks.test.ts hooks.
  'test/e2e/controller/hook-kills.test.ts',
  // Kills of the member that takes a host in; join-killed.test.ts has those of the host.
  'test/e2e/kill/accepting-member.test.ts',
  // Durations of verbs, which mean something on a quiet machine only.
  'test/e2e/process/controller-verbs.test.ts',
  // Screenshots of the documentation; views.test.ts has what the page shows.
  'test/reconciler/web/screenshots.test.ts',
];

export const isLongRun = process.env['GANTRY_LONG'] === '1';

/** The files to skip in this process; files on its command line run. */
export const leftOut: readonly string[] = isLongRun
  ? []
  : longRuns.filter(
      (file) => !process.argv.some((word) => word !== '' && file.includes(word) && word.startsWith('test/')),
    );

/** The files of `npm run test:long`: those above, and those that check for a long run. */
export function longFilesIn(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts'));
  const files = names.map((name) => `${folder}/${name}`);
  return files.filter(
    (file) => longRuns.includes(file) || /\b(isLongRun|walksOnSimulation)\b/.test(readFileSync(file, 'utf8')),
  );
}
