// Pools of both drivers, snapshots, copies and images, checked by the files of a container.
import { expectMatch, expectSame, type Check } from '../check.ts';
import { api, apply, container, destroy } from './shell.ts';

export const on = (name: string, pool: string): string =>
  container(name, `devices: { root: { type: disk, path: /, pool: ${pool}, size: 40MiB } }`);

const documents = [
  'kind: storage_pool\nname: lane-btrfs\ndriver: btrfs\nconfig: { size: 256MiB }',
  'kind: storage_pool\nname: lane-dir\ndriver: dir',
  'kind: storage_volume\nname: shared\npool: lane-btrfs',
  on('on-btrfs', 'lane-btrfs').replace(
    'root:',
    'shared: { type: disk, pool: lane-btrfs, source: shared, path: /shared }, root:',
  ),
  on('on-dir', 'lane-dir'),
].join('\n---\n');

/** Each step writes a file that shows the contents of snapshots and copies. */
const life = (name: string, form: string): string => `
  note() { gantry exec $1 -- sh -c "echo $2 >/root/note"; }
  read_note() { gantry exec $1 -- cat /root/note; }
  note ${name} first; gantry snapshot create ${name}/s1; note ${name} second
  gantry copy ${name}/s1 ${name}-old; gantry start ${name}-old; read_note ${name}-old
  gantry copy ${name} ${name}-new; gantry start ${name}-new; read_note ${name}-new
  gantry snapshot restore ${name}/s1; until read_note ${name} 2>/dev/null; do sleep 0.5; done
  gantry image publish ${name}/s1 --alias ${name}-image >/dev/null
  gantry image export ${name}-image /var/tmp/image >/dev/null; gantry image delete ${name}-image >/dev/null
  gantry image import /var/tmp/image --alias ${name}-again >/dev/null; rm /var/tmp/image
  gantry launch ${name}-again ${name}-third -p quick >/dev/null; read_note ${name}-third
  gantry backup create ${name} b1 ${form} >/dev/null; gantry backup export ${name} b1 /var/tmp/backup >/dev/null
  gantry backup import /var/tmp/backup ${name}-back >/dev/null; gantry start ${name}-back; read_note ${name}-back; rm /var/tmp/backup
  [ "$(gantry exec ${name}-back -- busybox stat -c %u:%g /root /bin | sort -u)" = 0:0 ]
  gantry delete --force --auto-approve ${name}-old ${name}-new ${name}-third ${name}-back >/dev/null; gantry image delete ${name}-again >/dev/null`;

/** `form`: an option of the backup. */
export const momentsOf = (name: string, form = '', seconds = 300): Check => ({
  name: `snapshots, copies, images and backups of a container ${name.replace('-', ' ')} have the files of their moment`,
  async run(host) {
    const notes = (await host.run(life(name, form), seconds))
      .split('\n')
      .filter((line) => /^(first|second)$/.test(line));
    expectSame(notes.join(' '), 'first second first first first', 'the notes');
  },
});

export const storageChecks: readonly Check[] = [
  {
    name: 'pools of both drivers hold containers, and a root disk of btrfs is as large as it says',
    async run(host) {
      expectMatch(await host.run(apply('storage', documents)), /Apply complete! 5 added/, 'apply');
      const said = await host.run(
        `gantry exec on-btrfs -- sh -c 'dd if=/dev/zero of=/root/much bs=1M count=64 conv=fsync 2>&1; rm /root/much; echo kept >/shared/file'`,
      );
      expectMatch(said, /Disk quota exceeded|No space left/, 'what dd said');
    },
  },
  momentsOf('on-dir'),
  momentsOf('on-btrfs'),
  {
    name: 'the backup of a volume becomes a volume of a pool of the other driver, with its files',
    async run(host) {
      const text = await host.run(`gantry backup create lane-btrfs/shared b1 >/dev/null
        gantry backup export lane-btrfs/shared b1 /var/tmp/backup >/dev/null; gantry backup import /var/tmp/backup lane-dir/back >/dev/null; rm /var/tmp/backup
        gantry backup delete lane-btrfs/shared b1 >/dev/null
        find /var/lib/gantry/ -path '*lane-dir*back/file' -exec cat {} +
        ${api} -o /dev/null -X DELETE http://gantryd/1.0/storage-pools/lane-dir/volumes/custom/back`);
      expectSame(text, 'kept', 'the file of the volume');
    },
  },
  {
    name: 'the pools go without a mount or loop device left',
    async run(host) {
      await host.run(destroy('storage'));
      expectSame(
        await host.run('grep -c btrfs /proc/self/mountinfo || true; losetup --list --noheadings'),
        '0',
        'what is left',
      );
    },
  },
];
