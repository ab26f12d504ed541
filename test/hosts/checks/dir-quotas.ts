// Project quotas of dir pools, which need support of kernel and file system: the suite on ext4 and xfs, and a limited container.
import { expectMatch, type Check } from '../check.ts';
import { installing } from '../packages-disk.ts';
import { api, apply, container, destroy } from './shell.ts';
import { suiteCheck } from '../suite-disk.ts';

export const quotaPackages = ['xfsprogs'];

const documents = [
  'kind: storage_pool\nname: lane-quotas\ndriver: dir\nconfig: { source: /srv/quotas/pool }',
  'kind: storage_volume\nname: sized\npool: lane-quotas\nconfig: { size: 16MiB }',
  container(
    'held',
    'devices: { sized: { type: disk, pool: lane-quotas, source: sized, path: /sized }, root: { type: disk, path: /, pool: lane-quotas, size: 40MiB } }',
  ),
].join('\n---\n');

const fill = (file: string, count: number): string =>
  `gantry exec held -- sh -c 'dd if=/dev/zero of=${file} bs=1M count=${count} conv=fsync 2>&1; rm ${file}'`;

export const quotaChecks: readonly Check[] = [
  {
    name: 'the tools of xfs install',
    vital: true,
    async run(host) {
      await host.run(installing(...quotaPackages), 900);
      await host.run('modprobe loop max_loop=64');
    },
  },
  {
    name: 'root disk and volume of an unprivileged container in a dir pool on ext4 are as large as they say, also after a restore',
    async run(host) {
      await host.run(`truncate -s 600M /srv/quotas.img; mkdir -p /srv/quotas
        mkfs.ext4 -q -O quota,project -E quotatype=prjquota /srv/quotas.img
        mount -o loop,prjquota /srv/quotas.img /srv/quotas; mkdir /srv/quotas/pool`);
      expectMatch(await host.run(apply('quotas', documents)), /Apply complete! 3 added/, 'apply');
      const refused = /Disk quota exceeded|No space left/;
      expectMatch(await host.run(fill('/root/much', 64)), refused, 'what dd said of the root disk');
      expectMatch(await host.run(fill('/sized/much', 32)), refused, 'what dd said of the volume');
      await host.run(
        'gantry snapshot create held/s1; gantry snapshot restore held/s1; until gantry exec held -- true; do sleep 0.5; done',
      );
      expectMatch(await host.run(fill('/root/much', 64)), refused, 'what dd said after a restore');
      const state = `${api} http://gantryd/1.0/containers/held/state`;
      expectMatch(await host.run(state), /"disk":\{"root":\{"usage":[1-9]\d{4,}\}\}/, 'its state');
    },
  },
  {
    name: 'the pool goes, and no limit of it stays',
    async run(host) {
      await host.run(destroy('quotas'));
      await host.run('test -z "$(ls /srv/quotas/pool)"; umount /srv/quotas; rm /srv/quotas.img');
    },
  },
  ...['dir quotas, ext4', 'dir quotas, xfs', 'dir, quotas of ext4', 'dir, quotas of xfs'].map((group) =>
    suiteCheck(group),
  ),
];
