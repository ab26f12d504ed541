// A Debian with systemd as an unprivileged container: made by debootstrap, under its AppArmor profile.
import { expectMatch, expectSame, type Check } from '../check.ts';
import { extras, mountExtras } from '../extras-disk.ts';
import { apply, container, destroy, initPid } from './shell.ts';

const debian = container(
  'debian',
  `config: { limits.memory: 512MiB, limits.processes: 1000 }
devices:
  echo: { type: proxy, listen: 'tcp:127.0.0.1:7003', connect: 'tcp:127.0.0.1:7' }`,
  'lane/debian',
);

export const guestChecks: readonly Check[] = [
  {
    name: 'a Debian with systemd boots to running, unprivileged and confined, with an address',
    async run(host) {
      await host.run(`${mountExtras}; gantry image import ${extras}/debian.tar.gz --alias lane/debian`, 300);
      await host.run(apply('guest', debian));
      const text = await host.run(
        `gantry exec debian -- systemctl is-system-running --wait || gantry exec debian -- systemctl --failed --no-legend
        until gantry list debian | grep -q 10.123.0; do sleep 0.5; done
        cat /proc/$(${initPid('debian')})/attr/current; gantry exec debian -- head -n 1 /proc/self/uid_map`,
        300,
      );
      expectMatch(text, /^running\n.*-debian.*\(enforce\)\n +0 +1000000 /, 'the guest');
    },
  },
  {
    name: 'exec, console, files and a proxy reach services of the guest',
    async run(host) {
      const text = await host.run(
        `gantry exec debian -- systemd-run --quiet --unit lane-echo systemd-socket-activate -l 7 -a --inetd cat
        until [ "$(curl -s -m 3 --http0.9 http://127.0.0.1:7003/proxied | head -n 1 | cut -d' ' -f2)" = /proxied ]; do sleep 0.5; done; echo proxied
        echo pushed >/var/tmp/pushed; gantry file push /var/tmp/pushed debian/root/sub/pushed -p
        gantry exec debian -- sh -c 'cat /root/sub/pushed; echo pulled >/root/pulled'; gantry file pull debian/root/pulled -
        gantry exec debian -- sh -c 'echo to the console >/dev/console'; until gantry logs debian | grep -o 'to the console'; do sleep 0.5; done
        rm /var/tmp/pushed`,
      );
      expectSame(text, 'proxied\npushed\npulled\nto the console', 'what came back');
    },
  },
  {
    name: 'a stop is the shutdown of its systemd, and its next start boots to running again',
    async run(host) {
      const text = await host.run(
        `gantry exec debian -- systemd-run --quiet --unit lane-end -p ExecStop='/bin/sh -c "echo stopped >/root/ended"' sleep 9999
        begin=$(date +%s); gantry stop debian >/dev/null 2>&1; echo $(( $(date +%s) - begin ))
        gantry start debian >/dev/null 2>&1; gantry exec debian -- systemctl is-system-running --wait; gantry exec debian -- cat /root/ended`,
        300,
      );
      expectMatch(
        text,
        /^([0-9]|[1-5][0-9])\nrunning\nstopped$/,
        'the stop in seconds, the state and what its service wrote',
      );
      await host.run(`${destroy('guest')}; gantry image delete lane/debian`);
    },
  },
];
