// The first steps of docs/install.md on a machine that has just booted.
import { expectMatch, type Check } from '../check.ts';
import { notesHost } from './host-state.ts';

/** Mostly for unpacking Node.js under emulation. */
const installSeconds = 600;

export const bootCheck: Check = {
  name: 'the machine boots with systemd, cgroup v2 and AppArmor',
  vital: true,
  async run(host) {
    const facts = 'cat /proc/1/comm /sys/module/apparmor/parameters/enabled; stat -f -c %T /sys/fs/cgroup';
    expectMatch(await host.run(facts), /^systemd\nY\ncgroup2fs$/, 'the host');
    await host.run('systemctl is-system-running --wait');
    await notesHost(host);
  },
};

/** The packages are in /run/product, and root has no range of ids, as on a machine that never had containers. */
export const beforeInstall =
  "sed -i '/^root:/d' /etc/subuid /etc/subgid; mkdir /run/product && mount -o ro /dev/vdb /run/product";

export const installChecks: readonly Check[] = [
  bootCheck,
  {
    name: 'the packages install, and their units are correct',
    vital: true,
    async run(host) {
      await host.run(`${beforeInstall}; DEBIAN_FRONTEND=noninteractive dpkg -i /run/product/*.deb`, installSeconds);
      expectMatch(await host.run('cat /etc/subuid'), /^root:1000000:1000000000$/m, 'the reserved ids');
      // The machine has no `man`.
      const complaints = await host.run(
        'systemd-analyze verify --man=no gantryd.service gantry-containers.service 2>&1',
      );
      if (complaints !== '') throw new Error(complaints);
    },
  },
  {
    name: 'gantryd runs under its unit with real containers',
    vital: true,
    async run(host) {
      await host.run('systemctl is-enabled gantryd gantry-containers; systemctl is-active gantryd gantry-containers');
      await host.run(`until grep -q '"runtime":"lxc"' <(journalctl -u gantryd -o cat); do sleep 0.2; done`);
      expectMatch(await host.run('stat -c %G /var/lib/gantry/unix.socket'), /^gantry$/, 'the group of the socket');
    },
  },
];
