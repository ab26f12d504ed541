// Networks beside LXD: containers that start on one bridge until they have addresses, what frames and forwards carry, and changes of rules.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { planNetwork } from '../../../server/drivers/network/config.ts';
import { firewallTable, renderFirewall } from '../../../server/drivers/network/firewall.ts';
import type { NicRun } from '../../../server/drivers/runtime/driver.ts';
import { removal } from '../../../server/drivers/nft-tables.ts';
import { allFilters, filterTable, setFilter } from '../../../server/drivers/runtime/nic/filter-rules.ts';
import { exec } from '../../../server/lib/exec.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { takingTurns, timesOf, type BenchContext, type Group } from '../group.ts';
import { pathOf, withImage, type ImageContainers } from '../image-containers.ts';
import type { Row } from '../report.ts';
import type { Server } from '../servers.ts';
import { inParallel } from '../wire.ts';

/** At most; fewer when the bench is run with fewer containers. */
const maxStarted = 200;
const rounds = 3;
const seconds = 3;
const group = 'networks';

export const networksGroup: Group = async (context) => [
  ...(await withImage(context, 'networks', async (containers) => {
    const { servers } = containers;
    const count = Math.min(maxStarted, context.containers);
    const starts: Record<string, readonly number[]> = {};
    for (const server of servers) starts[server.name] = [await startAll(context, containers, server, count)];
    const traffic = await carry(context, servers);
    const changes = await changeAcls(context, servers);
    for (const server of servers) {
      const all = Array.from({ length: count }, (_, index) => index);
      await inParallel(all, (index) => containers.act('stop', true)(server, index), context.signal);
    }
    return [
      {
        group,
        what: `start and address, each of ${count} on one bridge, p95`,
        unit: 'ms',
        samples: starts,
        atMost: 1000,
      },
      ...traffic,
      {
        group,
        what: `change an ACL through the API, ${count} containers on its bridge`,
        unit: 'ms',
        samples: changes,
        atMost: 20,
      },
    ];
  })),
  ...(await ruleRows(context)),
];

/** One after another, all of them running at the end. */
async function startAll(
  { say, signal }: BenchContext,
  { create, act }: ImageContainers,
  server: Server,
  count: number,
) {
  say(`networks: ${count} containers on ${server.name}`);
  const all = Array.from({ length: count }, (_, index) => index);
  await inParallel(all, (index) => create(server, index), signal);
  const start = async (index: number): Promise<void> => {
    await act('start')(server, index);
    while ((await stateOf(server, index)).address === undefined) await pause(5, undefined, { signal });
  };
  const times = (await timesOf(count, start, signal)).toSorted((a, b) => a - b);
  return times[Math.ceil(count * 0.95) - 1] ?? Number.NaN;
}

/** Each change has another port. */
async function changeAcls({ say, signal }: BenchContext, servers: readonly Server[]) {
  say('networks: changes of an ACL');
  const acl = 'gtyb-web';
  const networks = new Map<Server, string>();
  const setAcls = ({ wire }: Server, network: string, value: string): Promise<unknown> =>
    wire.change('PATCH', `/1.0/networks/${network}`, { config: { 'security.acls': value } });
  for (const server of servers) {
    const { expanded_devices: devices } = (await server.wire.get(pathOf(0))) as {
      expanded_devices: { eth0: { parent: string } };
    };
    networks.set(server, devices.eth0.parent);
    await server.wire.change('POST', '/1.0/network-acls', { name: acl });
    await setAcls(server, devices.eth0.parent, acl);
  }
  try {
    const rule = (port: number): object => ({
      action: 'allow',
      state: 'enabled',
      protocol: 'tcp',
      destination_port: `${port}`,
    });
    return await takingTurns(
      servers,
      { count: 40, block: 10 },
      ({ wire }, index) =>
        wire.change('PATCH', `/1.0/network-acls/${acl}`, { ingress: [rule(8000 + index), rule(443)] }),
      signal,
    );
  } finally {
    for (const [server, network] of networks) {
      await setAcls(server, network, '');
      await server.wire.change('DELETE', `/1.0/network-acls/${acl}`);
    }
  }
}

interface Found {
  readonly pid: number;
  readonly address: string | undefined;
}

async function stateOf({ wire }: Server, index: number): Promise<Found> {
  const { pid, network } = (await wire.get(`${pathOf(index)}/state`)) as {
    pid: number;
    network: Record<string, { addresses: { family: string; address: string }[] }> | null;
  };
  return { pid, address: network?.['eth0']?.addresses.find(({ family }) => family === 'inet')?.address };
}

/** iperf3 of this host in the networks of the containers; MB a second. */
async function carry({ say, signal }: BenchContext, servers: readonly Server[]): Promise<readonly Row[]> {
  if (
    !(await exec(['iperf3', '--version']).then(
      () => true,
      () => false,
    ))
  ) {
    say('skipped: throughput: iperf3 is not installed');
    return [];
  }
  say('networks: throughput');
  const between: Record<string, number[]> = {};
  const forwarded: Record<string, number[]> = {};
  const ports = new Map<Server, number>();
  for (const server of servers) {
    const port = await freePort();
    const proxy = { type: 'proxy', listen: `tcp:127.0.0.1:${port}`, connect: 'tcp:127.0.0.1:5201' };
    await server.wire.change('PATCH', pathOf(0), { devices: { forward: proxy } });
    ports.set(server, port);
  }
  await takingTurns(
    servers,
    { count: rounds, block: 1 },
    async (server) => {
      const [one, two] = [await stateOf(server, 0), await stateOf(server, 1)];
      const within = (pid: number): string[] => ['nsenter', '-t', String(pid), '-n'];
      (between[server.name] ??= []).push(await throughput(within(one.pid), within(two.pid), one.address ?? '', 5201));
      (forwarded[server.name] ??= []).push(await throughput(within(one.pid), [], '127.0.0.1', ports.get(server) ?? 0));
    },
    signal,
  );
  return [
    { group, what: 'TCP between two containers, MB', unit: '/s', samples: between, timesLxd: 1 },
    { group, what: 'TCP through a proxy into a container, MB', unit: '/s', samples: forwarded, timesLxd: 1 },
  ];
}

async function throughput(server: readonly string[], client: readonly string[], address: string, port: number) {
  const listening = spawn('env', [...server, 'iperf3', '-s', '-p', '5201'], { stdio: 'ignore' });
  const ended = once(listening, 'exit');
  try {
    for (let left = 50; ; left -= 1) {
      const argv = [...client, 'iperf3', '-c', address, '-p', String(port), '-t', String(seconds), '-J'];
      const { code, stdout } = await exec(argv, { okCodes: [0, 1] });
      const found = code === 0 ? receivedBits(stdout) : undefined;
      if (found !== undefined) return found / 8e6;
      if (left === 0) throw new Error(`iperf3 to ${address}:${port}: ${stdout}`);
      await pause(100);
    }
  } finally {
    listening.kill('SIGKILL');
    await ended;
  }
}

/** Undefined: it could not connect, which its exit code does not tell. */
const receivedBits = (json: string): number | undefined =>
  (JSON.parse(json) as { end: { sum_received?: { bits_per_second: number } } }).end.sum_received?.bits_per_second;

/** As the daemon runs them, beside the filters of 200 nics. */
async function ruleRows({ say, signal }: BenchContext): Promise<readonly Row[]> {
  if (process.getuid?.() !== 0) return [];
  say('networks: rules');
  const tag = 'gtybench';
  const nics = Array.from({ length: maxStarted }, (_, index): NicRun => {
    const last = index.toString(16).padStart(2, '0');
    const address = { ipFilter: { ipv4: [`10.215.9.${index + 2}`] }, macFilter: true };
    return {
      device: 'eth0',
      kind: 'veth',
      name: 'eth0',
      hostName: `gtybx${index}`,
      hwaddr: `00:16:3e:00:00:${last}`,
      ...address,
    };
  });
  const nft = (input: string): Promise<unknown> => exec(['nft', '-f', '-'], { input });
  const plan = planNetwork({ name: 'gtybrule', config: { 'ipv4.address': '10.215.9.1/24', 'ipv4.nat': 'true' } });
  try {
    await nft(allFilters(nics, tag, 'bridge'));
    const filter = await timesOf(20, (index) => nft(setFilter(nics[index] as NicRun, tag)), signal);
    const firewall = await timesOf(20, () => nft(renderFirewall(plan)), signal);
    const row = { group, unit: 'ms', atMost: 20 } as const;
    return [
      { ...row, what: 'change the filter of one of 200 nics', samples: { 'gantryd lxc': filter } },
      { ...row, what: 'replace the rules of a network beside them', samples: { 'gantryd lxc': firewall } },
    ];
  } finally {
    await nft(removal([filterTable(tag, 'bridge'), firewallTable('gtybrule')])).catch(() => {});
  }
}
