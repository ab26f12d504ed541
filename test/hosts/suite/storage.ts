// Runs inside a booted machine: the suite of storage drivers on those that need its kernel. Argument: a pattern of test names.
import { storageConformance } from '../../conformance/storage.ts';
import { openCephFixture } from '../../support/drivers/storage-ceph.ts';
import { openCephfsFixture } from '../../support/drivers/storage-cephfs.ts';
import { openLvmFixture } from '../../support/drivers/storage-lvm.ts';
import { openQuotaFixture } from '../../support/drivers/storage-quotas.ts';
import { cephPools } from './ceph-pools.ts';
import { cephfsPools } from './cephfs-pools.ts';
import { dirQuotas } from './dir-quotas.ts';
import { lvmFaults } from './lvm-faults.ts';
import { openZfsFixture } from '../../support/drivers/storage-zfs.ts';
import { lvmPools } from './lvm-pools.ts';
import { zfsPools } from './zfs-pools.ts';
import { runAll } from './vitest.ts';

storageConformance('lvm, thin, ext4', () => openLvmFixture({}));
storageConformance('lvm, thin, xfs', () =>
  openLvmFixture({ 'volume.block.filesystem': 'xfs', 'volume.size': '320MiB' }),
);
storageConformance('lvm, thin, btrfs', () =>
  openLvmFixture({ 'volume.block.filesystem': 'btrfs', 'volume.size': '160MiB' }),
);
storageConformance('lvm, thick, ext4', () => openLvmFixture({ 'lvm.use_thinpool': 'false', 'volume.size': '48MiB' }));

for (const fileSystem of ['ext4', 'xfs'] as const) {
  storageConformance(`dir, quotas of ${fileSystem}`, () => openQuotaFixture(fileSystem));
  dirQuotas(fileSystem);
}
storageConformance('zfs, quota, clones', () => openZfsFixture({}));
storageConformance('zfs, refquota, whole copies', () =>
  openZfsFixture({ 'volume.zfs.use_refquota': 'true', 'zfs.clone_copy': 'false' }),
);
storageConformance('zfs, block mode', () =>
  openZfsFixture({ 'volume.zfs.block_mode': 'true', 'volume.size': '48MiB' }),
);
storageConformance('ceph, rbd', () => openCephFixture({}));
storageConformance('ceph, whole copies', () => openCephFixture({ 'ceph.rbd.clone_copy': 'false' }));
storageConformance('cephfs', openCephfsFixture);

lvmPools();
lvmFaults();
zfsPools();
cephPools();
cephfsPools();

const { passed, failed } = await runAll(new RegExp(process.argv[2] ?? ''));
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
