// Containers of each kind, checked from inside.
import { expectMatch, expectSame, type Check } from '../check.ts';
import { apply, container, destroy } from './shell.ts';

const kinds = [
  container('plain'),
  container('isolated', 'config: { security.idmap.isolated: true }'),
  container('privileged', 'config: { security.privileged: true }'),
  container('nested', 'config: { security.nesting: true, limits.memory: 128MiB }'),
  container('mapped', 'config: { raw.idmap: "both 0 0" }'),
].join('\n---\n');

/** A manual container inside a container: namespaces of all kinds and its own root. */
const inner = `
mkdir -p /tmp/inner && mount -t tmpfs tmpfs /tmp/inner
mkdir -p /tmp/inner/bin /tmp/inner/proc /tmp/inner/sys /tmp/inner/old
cp /bin/busybox /tmp/inner/bin/
unshare -m -p -u -i -n -U -r -f sh -ec '
  mount -o bind /tmp/inner /tmp/inner; cd /tmp/inner; pivot_root . old; b=/bin/busybox
  $b mount -t proc proc /proc; $b mount -t sysfs sysfs /sys; $b umount -l /old
  $b hostname inner; $b hostname; echo $$; $b ls /sys/class/net; $b ls /old'
umount /tmp/inner`;

export const kindChecks: readonly Check[] = [
  {
    name: 'containers of each kind start with the host ids of their kind',
    async run(host) {
      expectMatch(await host.run(apply('kinds', kinds)), /Apply complete! 5 added/, 'apply');
      const maps = await host.run(`for name in plain isolated privileged mapped; do
        echo $name $(gantry exec $name -- head -n 1 /proc/self/uid_map); done`);
      expectMatch(
        maps,
        /^plain 0 1000000 \d{9,}\nisolated 0 1\d{6} 65536\nprivileged 0 0 4294967295\nmapped 0 0 1$/,
        'the id maps',
      );
    },
  },
  {
    name: 'a nested container runs a container in itself',
    async run(host) {
      expectSame(await host.run(`gantry exec nested -- sh <<'END'\n${inner}\nEND`), 'inner\n1\nlo', 'the inner one');
      await host.run(destroy('kinds'));
    },
  },
];
