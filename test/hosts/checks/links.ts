// Traffic that needs modules of a stock kernel: a gre tunnel, tagged nics and a bridge of Open vSwitch in the datapath of the kernel (machines for
// tests have the switch's own only), to another machine's network stack at the end of a wire.
import { expectMatch, expectSame, type Check } from '../check.ts';
import { installing } from '../packages-disk.ts';
import { answers, apply, container, destroy } from './shell.ts';

const documents = [
  'kind: network\nname: lane-gre\nconfig: { ipv4.address: 10.99.9.1/24, ipv4.nat: "false", tunnel.far.protocol: gre, tunnel.far.local: 198.18.99.1, tunnel.far.remote: 198.18.99.2 }',
  container(
    'linked',
    `devices:
  eth0: { type: nic, nictype: bridged, parent: lane-gre, name: eth0, ipv4.address: 10.99.9.5 }
  mac7: { type: nic, nictype: macvlan, parent: wire0, vlan: 7, name: mac7 }
  eth8: { type: nic, nictype: physical, parent: wire0, vlan: 8, name: eth8 }`,
  ),
].join('\n---\n');

const onTheWire = container(
  'wired',
  `devices:
  ipv: { type: nic, nictype: ipvlan, parent: wire0, name: ipv, ipv4.address: 198.18.99.7, ipv4.gateway: none }
  rou: { type: nic, nictype: routed, parent: wire0, vlan: 9, name: rou, ipv4.address: 10.99.19.5 }`,
);

/** Also sends packets of maximum size, since a tunnel uses some bytes of each. */
const ping = (address: string): string =>
  `p="busybox ping"; for try in $(seq 60); do $p -c 1 -W 2 ${address} >/dev/null 2>&1 && break; sleep 0.5; done; $p -c 3 -W 5 ${address}; $p -c 2 -W 5 -s 1300 ${address}`;
const inside = (script: string): string => `gantry exec linked -- sh <<'END'\n${script}\nEND`;
const far = (script: string): string => `ip netns exec far bash -c '${script}'`;
const answered = /3 packets received[\s\S]* 2 packets received/;

export const linkChecks: readonly Check[] = [
  {
    name: 'a network with a gre tunnel and a container with tagged nics are made',
    vital: true,
    async run(host) {
      await host.run(`ip netns add far; ip link add wire0 type veth peer name wire1 netns far
        ip link set wire0 up; ip addr add 198.18.99.1/24 dev wire0
        ip -n far link set lo up; ip -n far link set wire1 up; ip -n far addr add 198.18.99.2/24 dev wire1
        ip -n far link add far9 type gretap local 198.18.99.2 remote 198.18.99.1; ip -n far addr add 10.99.9.9/24 dev far9; ip -n far link set far9 up
        for tag in 7 8 9; do ip -n far link add link wire1 name wire1.$tag type vlan id $tag; ip -n far addr add 10.99.$tag.9/24 dev wire1.$tag; ip -n far link set wire1.$tag up; done`);
      expectMatch(await host.run(apply('links', documents), 300), /Apply complete! 2 added/, 'apply');
      await host.run(
        inside(
          'ip addr add 10.99.7.5/24 dev mac7; ip addr add 10.99.8.5/24 dev eth8; ip link set mac7 up; ip link set eth8 up',
        ),
      );
    },
  },
  {
    name: 'the tunnel carries packets between the network, its containers and the other machine, both ways',
    async run(host) {
      expectMatch(await host.run(far(ping('10.99.9.1'))), answered, 'pings of the gateway from the other machine');
      expectMatch(await host.run(inside(ping('10.99.9.9'))), answered, 'pings of the other machine from a container');
      expectMatch(await host.run(far(ping('10.99.9.5'))), answered, 'pings of the container from the other machine');
    },
  },
  ...(
    [
      ['macvlan', 7],
      ['physical', 8],
    ] as const
  ).map(([type, tag]): Check => ({
    name: `a ${type} nic with a vlan speaks with the other machine under its tag`,
    async run(host) {
      expectMatch(await host.run(inside(ping(`10.99.${tag}.9`))), answered, 'pings from the container');
      const untagged = far(`timeout 5 busybox ping -c 2 -W 2 -I wire1 10.99.${tag}.5 || true`);
      expectMatch(await host.run(untagged), /100% packet loss/, 'pings without the tag');
    },
  })),
  {
    name: 'an ipvlan nic, and a routed one with a vlan, are reached from the other machine',
    async run(host) {
      expectMatch(await host.run(apply('wired', onTheWire), 300), /Apply complete! 1 added/, 'apply');
      await host.run(`gantry exec wired -- ip route replace 198.18.99.2 dev ipv
        ip addr add 10.99.19.1/24 dev wire0.9; ip -n far addr add 10.99.19.9/24 dev wire1.9`);
      expectMatch(await host.run(far(ping('198.18.99.7'))), answered, 'pings of the ipvlan nic');
      expectMatch(await host.run(far(ping('10.99.19.5'))), answered, 'pings of the routed nic');
      await host.run(destroy('wired'));
    },
  },
  {
    name: 'the tunnel and the tagged interfaces go, and the wire stays',
    async run(host) {
      await host.run(destroy('links'));
      const left = await host.run(`ip -br link | cut -d' ' -f1 | cut -d@ -f1 | grep -E '^(wire0|lane-gre)' || true`);
      expectMatch(left, /^wire0$/, 'what is left');
      await host.run('ip netns del far');
    },
  },
];

export const switchPackages = ['openvswitch-switch'] as const;

const switched = [
  'kind: network\nname: lane-ovs\nconfig: { bridge.driver: openvswitch, ipv4.address: 10.99.29.1/24, ipv4.nat: "false", tunnel.far.protocol: vxlan, tunnel.far.id: 29, tunnel.far.local: 198.18.98.1, tunnel.far.remote: 198.18.98.2 }',
  container('switched', 'devices:\n  eth0: { type: nic, network: lane-ovs, name: eth0 }'),
].join('\n---\n');

/** Prints an address of the network that the container leased, and what machines at both ends of the tunnel answer by TCP. */
const traffic = `
  gantry exec switched -- sh <<'END'
for n in $(seq 20); do udhcpc -n -q -t 3 -T 2 -i eth0 -s /bin/true 2>&1 | grep obtained && break; done
ip addr replace 10.99.29.5/24 dev eth0
for to in 10.99.29.1 10.99.29.9; do for n in $(seq 20); do echo "hello $to" | timeout 10 nc -w 3 $to 8 && break; done; done
END
  echo 'hello 10.99.29.5' | timeout 10 ip netns exec far busybox nc -w 3 10.99.29.5 8`;
const arrived = /10\.99\.29\.\d+ obtained[\s\S]*hello 10\.99\.29\.1\nhello 10\.99\.29\.9\nhello 10\.99\.29\.5/;

export const switchChecks: readonly Check[] = [
  {
    name: 'a network of Open vSwitch is made in the datapath of the kernel, with a container and a tunnel as ports',
    vital: true,
    async run(host) {
      await host.run(installing(...switchPackages), 900);
      await host.run(`ip netns add far; ip link add wire0 type veth peer name wire1 netns far
        ip link set wire0 up; ip addr add 198.18.98.1/24 dev wire0
        ip -n far link set lo up; ip -n far link set wire1 up; ip -n far addr add 198.18.98.2/24 dev wire1
        ip -n far link add far9 type vxlan id 29 local 198.18.98.2 remote 198.18.98.1 dstport 0; ip -n far addr add 10.99.29.9/24 dev far9; ip -n far link set far9 up`);
      expectMatch(await host.run(apply('switches', switched), 300), /Apply complete! 2 added/, 'apply');
      expectMatch(await host.run('ovs-dpctl show'), /system@ovs-system[\s\S]*lane-ovs[\s\S]*lane-ovs-far/, 'ports');
    },
  },
  {
    name: 'frames pass between the container, its host and a machine beyond the tunnel, both ways',
    async run(host) {
      await host.run(`systemd-run -q --unit lane-echo busybox nc -ll -p 8 -e cat
        systemd-run -q --unit lane-far-echo ip netns exec far busybox nc -ll -p 8 -e cat
        gantry exec switched -- sh -c 'nc -ll -p 8 -e cat >/dev/null 2>&1 &'`);
      expectMatch(await host.run(traffic, 300), arrived, 'what came back');
    },
  },
  {
    name: 'they still pass after a kill of the daemon, and after a restart of the switch',
    async run(host) {
      await host.run(`kill -9 $(systemctl show -p MainPID --value gantryd); ${answers}`, 120);
      expectMatch(await host.run(traffic, 300), arrived, 'what came back after the kill');
      await host.run('systemctl restart openvswitch-switch', 120);
      expectMatch(await host.run(traffic, 300), arrived, 'what came back after the restart');
    },
  },
  {
    name: 'the bridge of Open vSwitch goes with its network, and nothing of it is left',
    async run(host) {
      await host.run(destroy('switches'), 120);
      const left =
        'ovs-vsctl list-br; ip -br link | grep lane-ovs || true; systemctl stop lane-echo lane-far-echo; ip netns del far';
      expectSame(await host.run(left), '', 'what is left');
    },
  },
];
