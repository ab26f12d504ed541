// The state of a host that a program can leave behind, recorded before the installation and compared after the purge.
import type { Machine } from '../machine.ts';

/** Files that change on any running host, and those of dpkg and apt. */
const ofAnyHost = [
  '^/(proc|sys|dev|run|tmp)(/|$)',
  '^/var/(log|cache|tmp|lib/systemd|lib/dpkg|lib/apt)(/|$)',
  '^/(root|etc|var/lib|usr/local/lib)$',
  '^/etc/(group-?|gshadow-?|passwd-?|shadow-?|.*\\\\.lock|mtab|ld.so.cache)$',
].join('|');

const noting = `
  echo "# mounts"; awk '{print $5}' /proc/self/mountinfo | grep -v -E '^/(run|proc|sys|tmp|dev)/?' || true
  echo "# links"; ls /sys/class/net
  echo "# rules"; nft list tables
  echo "# addresses"; ip -4 route show | sort
  echo "# profiles"; sed 's/ .*//' /sys/kernel/security/apparmor/profiles | sort
  echo "# namespaces"; ip netns list
  echo "# programs"; ps -eo comm,args --no-headers | grep -E -i 'gantry|dnsmasq.*gantry|lxc-(start|monitor)|\\[lxc monitor\\]' | grep -v -E 'grep|lane' || true
  echo "# cgroups"; find /sys/fs/cgroup -type d | grep -E -i 'lxc|gantry' || true
  echo "# files"; find / -xdev -not -type d -print | sort | grep -v -E '${ofAnyHost}'
`;

export async function notesHost(host: Machine): Promise<void> {
  await host.run(`{ ${noting} } >/var/tmp/lane-host-before`);
}

/** Leftovers that were not there before; empty: none. */
export async function remains(host: Machine): Promise<string> {
  return await host.run(
    `{ ${noting} } >/var/tmp/lane-host-after; diff /var/tmp/lane-host-before /var/tmp/lane-host-after | grep '^>' || true`,
  );
}
