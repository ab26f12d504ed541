// The ceph storage driver on a real cluster; where the kernel has no RBD, qemu-storage-daemon and loop devices stand in for `rbd map`.
import { describe } from 'vitest';
import { storageConformance } from '../../../conformance/storage.ts';
import { cephPools } from '../../../hosts/suite/ceph-pools.ts';
import { clusterMissing } from '../../../support/drivers/ceph-cluster.ts';
import { openCephFixture } from '../../../support/drivers/storage-ceph.ts';
import { busyboxMissing } from '../../../support/images/busybox-rootfs.ts';

const why = busyboxMissing() ?? (await clusterMissing(['qemu-storage-daemon']));
if (why !== undefined) console.log(`skipped: the storage driver ceph: ${why}`);

describe.skipIf(why !== undefined)('on a cluster', () => {
  storageConformance('ceph', () => openCephFixture({}));
  cephPools();
});
