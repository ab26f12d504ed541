// The LXD of the release beside gantryd: its objects move over and work.
import { expectMatch, expectSame, type Check } from '../check.ts';
import { installing } from '../packages-disk.ts';

export const migratePackages = ['lxd', 'lxd-client', 'rsync'] as const;

const onLxd = `lxd waitready; lxd init --auto
  sh /usr/share/doc/gantry/examples/quickstart/build-image.sh /var/tmp/box.tar.gz; lxc image import /var/tmp/box.tar.gz --alias box
  lxc storage volume create default data; lxc launch box moved
  lxc config device add moved data disk pool=default source=data path=/data
  lxc exec moved -- sh -c 'echo kept >/data/file; echo mine >/root/file'; lxc snapshot moved before`;

export const migrateChecks: readonly Check[] = [
  {
    name: 'migrate-from-lxd moves a running container, its snapshot and its volume from the LXD of Debian',
    async run(host) {
      await host.run(installing(...migratePackages), 600);
      await host.run(onLxd, 600);
      await host.run('cd /root; gantry migrate-from-lxd -y', 600);
      expectSame(await host.run('gantry exec moved -- cat /root/file /data/file'), 'mine\nkept', 'its files');
      expectMatch(await host.run('gantry snapshot list moved'), /before/, 'its snapshots');
      expectMatch(
        await host.run('gantry plan -f /root/lxd-move/manifests'),
        /^No changes: everything is as declared/m,
        'the plan of its manifests',
      );
      expectSame(await host.run('lxc list -c s -f csv'), 'STOPPED', 'the state of what stays on LXD');
    },
  },
];
