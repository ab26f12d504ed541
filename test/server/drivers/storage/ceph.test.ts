// The ceph storage driver on a real cluster; where the kernel has no RBD, qemu-storage-daemon and loop devices stand in for `rbd map`.
import { existsSync, readdirSync } from 'node:fs';
import { describe } from 'vitest';
import { storageConformance } from '../../../conformance/storage.ts';
import { cephPools } from '../../../hosts/suite/ceph-pools.ts';
import { clusterMissing } from '../../../support/drivers/ceph-cluster.ts';
import { openCephFixture } from '../../../support/drivers/storage-ceph.ts';
import { busyboxMissing } from '../../../support/images/busybox-rootfs.ts';

/** The part of QEMU that reads images of ceph is a file of its own. */
const partMissing = (): string | undefined =>
  readdirSync('/usr/lib').some((folder) => existsSync(`/usr/lib/${folder}/qemu/block-rbd.so`))
    ? undefined
    : 'QEMU has no driver for RBD: install qemu-block-extra';

const why = busyboxMissing() ?? (await clusterMissing(['qemu-storage-daemon'])) ?? partMissing();
if (why !== undefined) console.log(`skipped: the storage driver ceph: ${why}`);

describe.skipIf(why !== undefined)('on a cluster', () => {
  storageConformance('ceph', () => openCephFixture({}));
  cephPools();
});
