// Other programs with firewalls and links beside the product: they and our networks keep working with the steps of docs/daemon/networks.md.
import { expectMatch, expectSame, type Check } from '../check.ts';
import { installing } from '../packages-disk.ts';
import { answers } from './shell.ts';

export const neighbourPackages = ['ufw', 'firewalld', 'network-manager', 'docker.io', 'iptables'] as const;

/** An echo server on a machine beyond the host, and in a container. */
const outside = `
ip netns add outside; ip link add outside0 type veth peer name eth0 netns outside
ip addr add 192.0.2.1/24 dev outside0; ip link set outside0 up
ip -n outside addr add 192.0.2.2/24 dev eth0; ip -n outside link set eth0 up; ip -n outside route add 10.123.0.0/24 via 192.0.2.1
systemd-run -q --unit lane-outside ip netns exec outside busybox nc -ll -p 8 -e cat
gantry exec db -- sh -c 'nc -ll -p 8 -e cat >/dev/null 2>&1 &'`;

/** Prints who reaches whom by TCP, and whether a container gets a lease; `no` after five tries. One command in the container tries all, since gantry takes seconds to start here. */
const reach = `
db=$(gantry exec db -- ip -4 addr show dev eth0 | grep -o 'inet [0-9.]*' | cut -d' ' -f2)
gantry exec web -- sh -s "$db" <<'END'
try() { what=$1; shift; for n in 1 2 3 4 5; do if echo hello | timeout 10 "$@" 2>&1 | grep -q 'hello\\|obtained'; then echo "$what: yes"; return; fi; done; echo "$what: no"; }
try "guest to guest" nc -w 3 $1 8
try "guest to outside" nc -w 3 192.0.2.2 8
try "lease" udhcpc -n -q -t 3 -T 2 -i eth0 -s /bin/true
END
for n in 1 2 3 4 5; do
  if echo hello | timeout 10 ip netns exec outside busybox nc -w 3 $db 8 2>/dev/null | grep -q hello; then said=yes; break; else said=no; fi
done; echo "outside to guest: $said"`;

const reached = 'guest to guest: yes\nguest to outside: yes\nlease: yes\noutside to guest: yes';

export const neighbourChecks: readonly Check[] = [
  {
    name: 'each of the three ufw rules of the page lets through what it says',
    async run(host) {
      await host.run(`${installing('ufw')}; ${outside}`, 300);
      expectSame(await host.run(reach), reached, 'before ufw');
      await host.run('ufw --force enable');
      expectMatch(await host.run(reach), /: no/, 'with ufw and without a rule');
      await host.run('ufw allow in on quick0; ufw reload');
      const routes = /guest to outside: no\nlease: yes\noutside to guest: no$/;
      expectMatch(await host.run(reach), routes, 'with the first rule');
      await host.run('ufw route allow in on quick0; ufw reload');
      expectMatch(await host.run(reach), /guest to outside: yes\nlease: yes\noutside to guest: no$/, 'with the second');
      await host.run('ufw route allow out on quick0; ufw reload');
      expectSame(await host.run(reach), reached, 'with all three');
      await host.run('ufw --force reset; ufw --force disable');
    },
  },
  {
    name: 'containers reach each other and the outside with firewalld and the zone of the page, also when it is reloaded',
    async run(host) {
      await host.run(`${installing('firewalld')}; until firewall-cmd --state; do sleep 1; done`, 300);
      expectMatch(await host.run(reach), /: no/, 'with firewalld and without a zone');
      await host.run('firewall-cmd --permanent --zone=trusted --add-interface=quick0; firewall-cmd --reload');
      const zoned = reached.replace(/yes$/, 'no');
      expectSame(await host.run(reach), zoned, 'with firewalld and the zone');
      await host.run('firewall-cmd --reload');
      expectSame(await host.run(reach), zoned, 'after a reload');
      await host.run('systemctl disable --now firewalld');
    },
  },
  {
    name: 'NetworkManager leaves bridges and veths of containers as they are, also when it and a container restart',
    async run(host) {
      await host.run(`${installing('network-manager')}; until nmcli -t general; do sleep 1; done`, 300);
      await host.run('gantry stop web; systemctl restart NetworkManager; gantry start web');
      expectSame(await host.run(reach), reached, 'with NetworkManager');
      const devices = await host.run('nmcli -t -f DEVICE,STATE device | grep -E "^(quick0|veth)"');
      for (const line of devices.split('\n')) expectMatch(line, /:(connected \(externally\)|unmanaged)$/, 'a device');
    },
  },
  {
    name: 'a restart of nftables.service, which flushes the rules of everybody, takes those of a network for a minute at most',
    async run(host) {
      const rules = 'nft list table inet gantry_quick0';
      await host.run(`systemctl restart nftables; ! ${rules} 2>/dev/null`);
      await host.run(`until ${rules} >/dev/null 2>&1; do sleep 1; done`, 90);
      expectSame(await host.run(reach), reached, 'with the rules that were set again');
      expectMatch(await host.run('journalctl -u gantryd -b'), /inet gantry_quick0.* were missing/, 'the log');
    },
  },
  {
    name: 'docker that drops what is forwarded does not cut containers off, and its own reach the outside',
    async run(host) {
      await host.run(`${installing('docker.io', 'iptables')}; until docker info >/dev/null; do sleep 1; done`, 300);
      // Like docker when it starts first; it also sends frames between bridge ports through the firewall.
      await host.run(`iptables -P FORWARD DROP; systemctl restart gantryd; ${answers}`);
      expectSame(await host.run(reach), reached, 'with docker');
      const text = await host.run(`tar -C / -c bin/busybox | docker import - box >/dev/null
        echo hello | docker run --rm -i box /bin/busybox nc -w 3 192.0.2.2 8
        systemctl restart docker; iptables -S DOCKER-USER | grep -c quick0`);
      expectSame(text, 'hello\n2', 'what its container got, and our rules when it has restarted');
      expectSame(await host.run(reach), reached, 'when docker has restarted');
    },
  },
];
