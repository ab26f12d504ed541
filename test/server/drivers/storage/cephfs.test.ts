// The cephfs storage driver on a real CephFS; where the kernel has no module for it, ceph-fuse stands in for `mount -t ceph`.
import { describe } from 'vitest';
import { storageConformance } from '../../../conformance/storage.ts';
import { cephfsPools } from '../../../hosts/suite/cephfs-pools.ts';
import { clusterMissing } from '../../../support/drivers/ceph-cluster.ts';
import { openCephfsFixture } from '../../../support/drivers/storage-cephfs.ts';
import { busyboxMissing } from '../../../support/images/busybox-rootfs.ts';

const why = busyboxMissing() ?? (await clusterMissing(['ceph-mds', 'ceph-fuse', 'setfattr']));
if (why !== undefined) console.log(`skipped: the storage driver cephfs: ${why}`);

describe.skipIf(why !== undefined)('on a CephFS', () => {
  storageConformance('cephfs', openCephfsFixture);
  cephfsPools();
});
