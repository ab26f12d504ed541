// Each type of device on a real host: present at the start, plugged into a running container, and refused with a reason where the host has none.
import { expectMatch, expectSame, type Check } from '../check.ts';
import type { Machine } from '../machine.ts';
import { apply, container, destroy, initPid } from './shell.ts';

const inside = (script: string): string => `gantry exec things -- sh 2>/dev/null <<'END'\n${script}\nEND`;

const things = {
  data: '{ type: disk, source: /var/tmp/things, path: /data, shift: true }',
  look: '{ type: disk, source: /var/tmp/things, path: /look, readonly: true }',
  zero: '{ type: unix-char, source: /dev/zero, path: /dev/nought, mode: "0666" }',
  loops: '{ type: unix-char, source: /dev/loop-control, path: /dev/loops, mode: "0600" }',
  block: '{ type: unix-block, source: /dev/lane-block, path: /dev/block0 }',
  p2p: '{ type: nic, nictype: p2p, name: direct0, host_name: lane-direct }',
  mac: '{ type: nic, nictype: macvlan, parent: lane-parent, name: mac0 }',
  tagged: '{ type: nic, nictype: macvlan, parent: lane-parent, vlan: 7, name: tag0 }',
  whole: '{ type: nic, nictype: physical, parent: lane-card, name: whole0 }',
  tcp: "{ type: proxy, listen: 'tcp:127.0.0.1:7001', connect: 'tcp:127.0.0.1:7' }",
  unix: "{ type: proxy, listen: 'unix:/var/tmp/lane-socket', connect: 'tcp:127.0.0.1:7' }",
  nat: "{ type: proxy, listen: 'tcp:10.123.0.1:7002', connect: 'tcp:10.123.0.77:7', nat: true }",
  eth0: '{ type: nic, nictype: bridged, parent: quick0, name: eth0, ipv4.address: 10.123.0.77 }',
};

/** Devices that no machine of the lane has, with the expected message. */
const absent: Readonly<Record<string, readonly [device: string, reason: RegExp]>> = {
  usb: ['{ type: usb, vendorid: "1d6b", required: true }', /usb|USB/],
  gpu: ['{ type: gpu, id: "7" }', /gpu|card/],
  infiniband: ['{ type: infiniband, nictype: physical, parent: ib0 }', /ib0/],
  sriov: ['{ type: nic, nictype: sriov, parent: lane0, name: v0 }', /lane0/],
  tpm: ['{ type: tpm, path: /dev/tpm0 }', /tpm/],
  'unix-char': ['{ type: unix-char, source: /dev/nothing }', /nothing/],
};

const document = (devices: Readonly<Record<string, string>>): string =>
  container('things', ['devices:', ...Object.entries(devices).map(([name, one]) => `  ${name}: ${one}`)].join('\n'));

/** Checks each device from inside; an echo service is behind the proxies. */
const looks = `
[ -e /data/mark ] && echo "data: $(cat /data/mark) $(stat -c %u /data/mark)" && echo x >/data/new && echo "data: written"
[ -e /look/mark ] && { echo x >/look/new || echo "look: read-only"; }
[ -e /dev/nought ] && echo "zero: $(head -c 4 /dev/nought | wc -c)"
[ -e /dev/loops ] && : </dev/loops && echo "loops: open"
[ -e /dev/block0 ] && echo "block: $(head -c 5 /dev/block0)"
for nic in direct0 mac0 tag0 whole0; do [ -e /sys/class/net/$nic ] && echo "$nic: there"; done 2>/dev/null; true`;

const seen = `data: mark 0
data: written
look: read-only
zero: 4
loops: open
block: block
direct0: there
mac0: there
tag0: there
whole0: there`;

const proxies = `
gantry exec things -- sh -c 'nc -ll -p 7 -e cat >/dev/null 2>&1 &'
ask() { until [ "$(curl -s -m 3 --http0.9 "\${@:2}" | head -n 1 | cut -d' ' -f2)" = "/$1" ]; do sleep 0.5; done; echo "$1"; }
ask tcp http://127.0.0.1:7001/tcp; ask unix --unix-socket /var/tmp/lane-socket http://lane/unix; ask nat http://10.123.0.1:7002/nat`;

const thingsPid = initPid('things');

/** Opens device nodes of the host from the container's control group, so that a missing path cannot hide the result. */
const opened = `pid=$(${thingsPid}); (echo $BASHPID >/sys/fs/cgroup$(cut -d: -f3 /proc/$pid/cgroup)/cgroup.procs
  for node in /dev/zero /dev/loop-control /dev/lane-block; do : <$node && echo "$node: open" || echo "$node: closed"; done) 2>/dev/null`;

async function show(host: Machine, devices: Readonly<Record<string, string>>): Promise<void> {
  await host.run(`${apply('things', document(devices))} >/dev/null`);
}

export const deviceChecks: readonly Check[] = [
  {
    name: 'devices of each type are there from the start, proxies forward, and none takes one of a profile away',
    async run(host) {
      await host.run(`mkdir -p /var/tmp/things && echo mark >/var/tmp/things/mark
        echo block >/var/tmp/block && truncate -s 1M /var/tmp/block && ln -s $(losetup -f --show /var/tmp/block) /dev/lane-block
        ip link add lane-parent type veth peer name lane-card; ip link set lane-parent up; ip link set lane-card up`);
      await show(host, things);
      expectSame(await host.run(inside(looks)), seen, 'what it has');
      expectSame(await host.run(proxies, 60), 'tcp\nunix\nnat', 'what came back');
    },
  },
  {
    name: 'devices are taken out of a running container, and its control group closes the nodes',
    async run(host) {
      const pid = await host.run(thingsPid);
      await show(host, { eth0: '{ type: none }' });
      expectSame(await host.run(inside(looks)), '', 'what it has');
      expectSame(await host.run('ls -d /sys/class/net/lane-card'), '/sys/class/net/lane-card', 'the card');
      expectSame(
        await host.run(opened),
        '/dev/zero: open\n/dev/loop-control: closed\n/dev/lane-block: closed',
        'the nodes',
      );
      expectSame(await host.run(thingsPid), pid, 'the process');
    },
  },
  {
    name: 'devices are plugged into a running container',
    async run(host) {
      const pid = await host.run(thingsPid);
      await show(host, things);
      expectSame(await host.run(inside(looks)), seen, 'what it has');
      expectSame(await host.run(thingsPid), pid, 'the process');
      await host.run(
        `${destroy('things')}; losetup -d /dev/lane-block; rm /dev/lane-block; rm -r /var/tmp/things /var/tmp/block; ip link delete lane-card`,
      );
    },
  },
  {
    name: 'hardware that the host lacks is refused where it is required, and with the reason',
    async run(host) {
      for (const [name, [device, reason]] of Object.entries(absent)) {
        const text = await host.run(`${apply('things', document({ odd: device }))} 2>&1 && echo started || true`);
        expectMatch(text, reason, name);
        await host.run(`gantry delete --force --auto-approve things >/dev/null 2>&1 || true; rm /var/tmp/things.yaml`);
      }
    },
  },
];
