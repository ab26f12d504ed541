// A pool of ceph on a cluster outside the machine, with the kernel's own RBD.
import { expectMatch, expectSame, type Check } from '../check.ts';
import { onCluster } from '../outer-cluster.ts';
import { apply, destroy } from './shell.ts';
import { momentsOf, on } from './storage.ts';
import { suiteCheck } from '../suite-disk.ts';

const documents = [
  'kind: storage_pool\nname: lane-ceph\ndriver: ceph\nconfig: { ceph.osd.pg_num: 8 }',
  on('on-ceph', 'lane-ceph').replace('40MiB', '192MiB'),
];

export const clusterCheck: Check = {
  name: 'the machine reaches a cluster of Ceph, and the module rbd loads',
  vital: true,
  async run(host) {
    expectMatch(await host.run('modprobe rbd; ceph osd stat', 120), /3 up/, 'what the cluster says');
  },
};

export const cephChecks: readonly Check[] = [
  clusterCheck,
  {
    name: 'a pool of ceph holds a container, whose root disk is an image that the kernel maps, as large as it says',
    vital: true,
    async run(host) {
      expectMatch(await host.run(apply('ceph', documents.join('\n---\n')), 900), /Apply complete! 2 added/, 'apply');
      expectMatch(await host.run('rbd device list'), /lane-ceph .*on-ceph/, 'what is mapped');
      const fill = 'dd if=/dev/urandom of=/root/much bs=1M count=256 conv=fsync 2>&1; rm /root/much';
      expectMatch(await host.run(`gantry exec on-ceph -- sh -c '${fill}'`, 600), /No space left/, 'what dd said');
    },
  },
  momentsOf('on-ceph', '', 3_600),
  {
    name: 'a daemon that was killed finds the container on ceph again, and a restart maps its image again',
    async run(host) {
      await host.run(
        `
        kill -9 $(systemctl show -p MainPID --value gantryd); until gantry exec on-ceph -- true 2>/dev/null; do sleep 1; done
        gantry restart on-ceph; gantry exec on-ceph -- cat /root/note`,
        600,
      );
    },
  },
  {
    name: 'the pool of ceph goes without an image mapped or an OSD pool left',
    async run(host) {
      await host.run(destroy('ceph'), 600);
      expectSame(
        await host.run(
          'rbd device list; if ceph osd pool ls | grep lane-ceph; then rados -p lane-ceph ls; fi; grep /dev/rbd /proc/self/mountinfo || true',
        ),
        '',
        'what is left',
      );
    },
  },
  ...['pools of ceph ', 'ceph, rbd', 'ceph, whole copies'].map((group) => suiteCheck(group, onCluster)),
];
