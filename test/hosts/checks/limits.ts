// Limits of every cgroup v2 controller, each checked by its effect on a process inside.
import { expectMatch, expectSame, type Check } from '../check.ts';
import type { Machine } from '../machine.ts';
import { apply, container, destroy } from './shell.ts';

/** Changes the limits of the running container. */
async function limit(host: Machine, config: string): Promise<void> {
  const devices =
    'devices: { slow: { type: disk, source: /var/tmp/slow, path: /slow, limits.write: 1MiB, shift: true } }';
  await host.run(
    `mkdir -p /var/tmp/slow; ${apply('limits', container('limited', `config: { ${config} }\n${devices}`))}`,
  );
}

const inside = (script: string): string => `gantry exec limited -- sh <<'END'\n${script}\nEND`;

/** Fills memory through a file, and prints the status of dd: 137 if the kernel killed it at the limit. */
const fill = `mkdir -p /tmp/fill; mount -t tmpfs -o size=200M tmpfs /tmp/fill
dd if=/dev/zero of=/tmp/fill/file bs=1M count=64 2>/dev/null || status=$?; echo \${status:-0}; umount /tmp/fill`;

export const limitChecks: readonly Check[] = [
  {
    name: 'limits of processors, processes, open files and huge pages hold inside',
    async run(host) {
      await limit(host, 'limits.cpu: 1, limits.processes: 30, limits.kernel.nofile: 100, limits.hugepages.2MB: 4MiB');
      // The shell ends with the failure of its fork.
      const text = await host.run(`{ ${inside('nproc; ulimit -n; for i in $(seq 40); do sleep 9 & done')}\n} || true`);
      expectMatch(text, /^1\n100\n(.*\n)*.*(can't fork|Resource temporarily unavailable)/, 'what it had');
      expectSame(await host.run(`cat /sys/fs/cgroup/gantry/????????/limited/hugetlb.2MB.max`), '4194304', 'huge pages');
    },
  },
  {
    name: 'an allowance of processor time is all that a container gets',
    async run(host) {
      await limit(host, 'limits.cpu.allowance: 20ms/100ms');
      const used = await host.run(
        inside(`sh -c 'while :; do :; done' & sleep 5; awk '{print int(($14 + $15) / 5)}' /proc/$!/stat; kill $!`),
      );
      if (Number(used) > 25) throw new Error(`it used ${used} % of a processor`);
    },
  },
  {
    name: 'a limit of memory ends what wants more, and swap helps only where it is allowed',
    async run(host) {
      await host.run(
        'fallocate -l 256M /var/tmp/swap; chmod 600 /var/tmp/swap; mkswap /var/tmp/swap; swapon /var/tmp/swap',
      );
      await limit(host, 'limits.memory: 48MiB, limits.memory.swap: false');
      expectSame(await host.run(inside(fill)), '137', 'without swap');
      await limit(host, 'limits.memory: 48MiB, limits.memory.swap: true');
      expectSame(await host.run(inside(fill)), '0', 'with swap');
      await host.run('swapoff /var/tmp/swap; rm /var/tmp/swap');
    },
  },
  {
    name: 'a disk is as slow as its limit says',
    async run(host) {
      const text = await host.run(
        inside('time dd if=/dev/zero of=/slow/file bs=1M count=5 conv=fsync 2>&1; rm /slow/file'),
      );
      const [, minutes, seconds] = /real\s+(\d+)m\s*([\d.]+)s/.exec(text) ?? [];
      if (!(Number(minutes) * 60 + Number(seconds) >= 3)) throw new Error(`5 MiB were written too fast:\n${text}`);
      await host.run(`${destroy('limits')}; rm -r /var/tmp/slow`);
    },
  },
];
