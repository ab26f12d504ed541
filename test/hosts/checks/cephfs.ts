// A pool of cephfs on a cluster outside the machine, with the kernel's own CephFS, and the suite of storage drivers on it.
import { fileSystemScript } from '../../support/drivers/ceph-cluster.ts';
import { expectMatch, expectSame, type Check } from '../check.ts';
import { onCluster } from '../outer-cluster.ts';
import { api, apply, container, destroy, operations } from './shell.ts';
import { suiteCheck } from '../suite-disk.ts';

const documents = [
  'kind: storage_pool\nname: lane-cephfs\ndriver: cephfs\nconfig: { source: files/lane }',
  'kind: storage_volume\nname: data\npool: lane-cephfs\nconfig: { size: 16MiB }',
  container('on-cephfs', 'devices: { data: { type: disk, pool: lane-cephfs, source: data, path: /data } }'),
].join('\n---\n');

const volume = '/1.0/storage-pools/lane-cephfs/volumes/custom/data';

export const cephfsChecks: readonly Check[] = [
  {
    name: 'a CephFS is there, and a pool of cephfs holds a volume that an unprivileged container writes to, as much as it may',
    vital: true,
    async run(host) {
      await host.run(`cat >/root/files.sh <<'SCRIPT'\n${fileSystemScript}\nSCRIPT\nsh /root/files.sh ceph`, 900);
      expectMatch(await host.run(apply('cephfs', documents), 600), /Apply complete! 3 added/, 'apply');
      const fill = 'for each in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=/data/$each bs=1M count=8 conv=fsync; done';
      const said = await host.run(`gantry exec on-cephfs -- sh -c '(${fill}) 2>&1; rm /data/*'`, 600);
      expectMatch(said, /Disk quota exceeded/, 'what dd said');
    },
  },
  {
    name: 'a snapshot of the volume is restored, and a daemon that was killed finds all again',
    async run(host) {
      const text = await host.run(
        `${operations}
        note() { gantry exec on-cephfs -- sh -c "echo $1 >/data/note"; }
        note first; operation POST ${volume}/snapshots '{"name":"s1"}' >/dev/null; note second
        kill -9 $(systemctl show -p MainPID --value gantryd); until gantry exec on-cephfs -- cat /data/note 2>/dev/null; do sleep 1; done
        gantry stop on-cephfs >/dev/null 2>&1; ${api} -f -X PUT -d '{"restore":"s1"}' http://gantryd${volume} >/dev/null; gantry start on-cephfs >/dev/null
        until gantry exec on-cephfs -- cat /data/note 2>/dev/null; do sleep 1; done`,
        600,
      );
      expectSame(text.split('\n').slice(-2).join(' '), 'second first', 'the notes');
    },
  },
  {
    name: 'the pool of cephfs goes without a mount or a file of it left',
    async run(host) {
      await host.run(destroy('cephfs'), 600);
      const left = `grep ceph /proc/self/mountinfo || true; mkdir /mnt/top; mount -t ceph :/ /mnt/top -o name=admin,mds_namespace=files,ms_mode=prefer-crc; ls -A /mnt/top; umount /mnt/top; rmdir /mnt/top`;
      expectSame(await host.run(left), '', 'what is left');
    },
  },
  ...['pools of cephfs', 'storage driver cephfs'].map((group) => suiteCheck(group, onCluster)),
];
