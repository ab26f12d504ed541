// The first steps of docs/install.md on a machine that has just booted.
import { expectMatch, type Check } from '../check.ts';
import { notesHost } from './host-state.ts';

const units = '/usr/local/lib/node_modules/gantry/packaging';

export const installChecks: readonly Check[] = [
  {
    name: 'the machine boots with systemd, cgroup v2 and AppArmor',
    vital: true,
    async run(host) {
      const facts = 'cat /proc/1/comm /sys/module/apparmor/parameters/enabled; stat -f -c %T /sys/fs/cgroup';
      expectMatch(await host.run(facts), /^systemd\nY\ncgroup2fs$/, 'the host');
      await host.run('systemctl is-system-running --wait');
      await notesHost(host);
    },
  },
  {
    name: 'the units of the package are installed and correct',
    vital: true,
    async run(host) {
      await host.run(`
        mkdir /run/product && mount -o ro /dev/vdb /run/product
        cp -a /run/product/. /usr/local/ && umount /run/product && rmdir /run/product
        cp ${units}/systemd/*.service /etc/systemd/system/
        install -D -m 644 ${units}/sysusers.d/gantry.conf /usr/local/lib/sysusers.d/gantry.conf
        systemd-sysusers
        systemctl daemon-reload`);
      const complaints = await host.run('systemd-analyze verify gantryd.service gantry-containers.service 2>&1');
      if (complaints !== '') throw new Error(complaints);
    },
  },
  {
    name: 'gantryd runs under its unit with real containers',
    vital: true,
    async run(host) {
      await host.run('systemctl enable --now gantryd gantry-containers');
      await host.run(`until grep -q '"runtime":"lxc"' <(journalctl -u gantryd -o cat); do sleep 0.2; done`);
      expectMatch(await host.run('stat -c %G /var/lib/gantry/unix.socket'), /^gantry$/, 'the group of the socket');
    },
  },
];
