// Checks that a container works after its daemon died: it can be entered, plugged and stopped, its guest socket answers, and every
// device, limit and forward of its record is in effect. Works on real and simulated containers through the API.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readCgroupTree, readGroupFile } from '../../../server/drivers/runtime/cgroup/cgroup.ts';
import { LxcPaths } from '../../../server/drivers/runtime/lxc-paths.ts';
import { call, hostRemains, type Json } from '../../support/daemons/daemon.ts';
import { read, settle, type ChildDaemon } from '../../support/daemons/child-process.ts';
import { until } from '../../support/until.ts';
import type { KillWorld } from './world.ts';

/** The deviations, one line each. */
export class Findings {
  readonly wrong: string[] = [];
  readonly left: string[] = [];

  same(what: string, found: unknown, wanted: unknown): void {
    if (!isDeepStrictEqual(found, wanted)) {
      this.wrong.push(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
    }
  }

  holds(what: string, found: string, part: string, wanted = true): void {
    if (found.includes(part) !== wanted) {
      this.wrong.push(`${what}: ${JSON.stringify(part)} is ${wanted ? 'not ' : ''}in ${JSON.stringify(found)}`);
    }
  }
}

const askGuestSocket = `use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => '/dev/lxd/sock') or do { print "none: $!"; exit };
print $s "GET /1.0 HTTP/1.0\\r\\n\\r\\n"; my $all = join '', <$s>; $all =~ /^HTTP\\S+ (\\d+)/; print $1;`;

/** Runs a command in it through the API and returns its standard output, or the reason of the failure. */
async function inside(daemon: ChildDaemon, name: string, ...command: string[]): Promise<string> {
  const body = { command, 'record-output': true };
  const { operation, status, metadata } = await settle(daemon, 'POST', `/1.0/containers/${name}/exec`, body);
  if (operation?.status !== 'Success') return `exec failed: ${status} ${operation?.err}`;
  const output = await call(daemon, 'GET', metadata.metadata.output['1'] as string);
  return output.bytes.toString();
}

/** The container after the daemon has finished its start-up work. */
export async function settled(daemon: ChildDaemon, name: string): Promise<Json> {
  let found: Json;
  await until(async () => {
    found = await read(daemon, `/1.0/containers/${name}`);
    const wants = found.config['volatile.last_state.power'] === 'RUNNING';
    return wants ? ['Running', 'Frozen'].includes(found.status as string) : found.status === 'Stopped';
  });
  return found;
}

/** Starts the container if it is stopped, checks everything, and stops it. */
export async function findings(world: KillWorld, daemon: ChildDaemon, name: string): Promise<Findings> {
  const findings = new Findings();
  const path = `/1.0/containers/${name}`;
  const { status } = await settled(daemon, name);
  if (status === 'Frozen') await act(findings, daemon, path, 'unfreeze');
  if (status === 'Stopped') {
    findRemains(findings, world, name);
    await act(findings, daemon, path, 'start');
  }
  await findHalf(findings, world, daemon, name);
  await act(findings, daemon, path, 'stop');
  findRemains(findings, world, name);
  return findings;
}

async function act(findings: Findings, daemon: ChildDaemon, path: string, action: string): Promise<void> {
  const { operation } = await settle(daemon, 'PUT', `${path}/state`, { action, timeout: 20 });
  findings.same(action, [operation?.status, operation?.err], ['Success', '']);
}

async function findHalf(findings: Findings, world: KillWorld, daemon: ChildDaemon, name: string): Promise<void> {
  const now = await read(daemon, `/1.0/containers/${name}`);
  findings.same('recorded state', now.config['volatile.last_state.power'], 'RUNNING');
  findings.same('interface in the record', typeof now.config['volatile.eth0.host_name'], 'string');
  findings.same('a command', await inside(daemon, name, 'echo', 'entered'), 'entered\n');
  if (world.runtime === 'lxc') await findMissing(findings, world, daemon, now);
  else await findSimulated(findings, world, now);
  await plugAndUnplug(findings, world, daemon, name);
}

async function findMissing(findings: Findings, world: KillWorld, daemon: ChildDaemon, now: Json): Promise<void> {
  const name = now.name as string;
  const mounts = await inside(daemon, name, 'cat', '/proc/mounts');
  const devices = now.expanded_devices as Record<string, Record<string, string>>;
  for (const { type, path = '/' } of Object.values(devices)) {
    if (type === 'disk' && path !== '/') findings.holds('mounts', mounts, ` ${path} `);
  }
  findings.same('a shared file', await inside(daemon, name, 'cat', '/srv/shared/here'), 'shared\n');
  findings.same('a node', await inside(daemon, name, 'sh', '-c', 'head -c 3 /dev/mine | wc -c'), '3\n');
  findings.holds('interfaces', await inside(daemon, name, 'ls', '/sys/class/net'), 'eth0');
  const cable = now.config['volatile.eth0.host_name'] as string;
  findings.same('ports of the bridge', portsOf(world), [cable]);
  findings.holds('rates', execFileSync('tc', ['qdisc', 'show', 'dev', cable], { encoding: 'utf8' }), 'tbf');
  findings.same('guest socket', await inside(daemon, name, '/usr/bin/perl', '-e', askGuestSocket), '200');
  const tree = readCgroupTree();
  const group = new LxcPaths(realpathSync(join(world.dir, 'runtime'))).group(name);
  const limit = readGroupFile(tree, group, tree.version === 1 ? 'memory.limit_in_bytes' : 'memory.max');
  const mebibytes = Number.parseInt(now.expanded_config['limits.memory'] as string, 10);
  findings.same('memory limit', limit, String(mebibytes * 2 ** 20));
  findings.same('forward', await accepts(world.port), true);
}

async function findSimulated(findings: Findings, world: KillWorld, now: Json): Promise<void> {
  const home = join(world.dir, 'storage-pools/default/containers', now.name as string);
  const asked = await call({ socketPath: join(home, 'rootfs/dev/lxd/sock') }, 'GET', '/1.0').catch(String);
  findings.same('guest socket', typeof asked === 'string' ? asked : asked.status, 200);
  const state = simState(world, now.name as string);
  const devices = Object.keys(now.expanded_devices as object).toSorted();
  findings.same('devices', Object.keys(state.run.properties as object).toSorted(), devices);
  findings.same('memory limit', state.limits['limits.memory'], now.expanded_config['limits.memory']);
}

function simState({ dir }: KillWorld, name: string): Json {
  const file = join(dir, 'runtime', `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

/** A disk and a nic that are plugged and unplugged while it runs. */
async function plugAndUnplug(findings: Findings, world: KillWorld, daemon: ChildDaemon, name: string): Promise<void> {
  const path = `/1.0/containers/${name}`;
  const { devices, config, profiles } = await read(daemon, path);
  const probe = { type: 'disk', source: join(world.dir, 'shared'), path: '/srv/probe' };
  const eth7 = { type: 'nic', nictype: 'p2p', name: 'eth7' };
  const plugged = await call(daemon, 'PATCH', path, { devices: { ...devices, probe, eth7 } });
  findings.same('plugging', plugged.status === 200 ? '' : plugged.bytes.toString(), '');
  if (world.runtime === 'lxc') {
    findings.same('a plugged disk', await inside(daemon, name, 'cat', '/srv/probe/here'), 'shared\n');
    findings.holds('plugged interfaces', await inside(daemon, name, 'ls', '/sys/class/net'), 'eth7');
  } else {
    findings.holds('plugged devices', Object.keys(simState(world, name).run.properties as object).join(' '), 'eth7');
  }
  const put = await settle(daemon, 'PUT', path, { config, profiles, devices });
  findings.same('unplugging', put.operation?.err, '');
  if (world.runtime !== 'lxc') return;
  findings.holds('unplugged interfaces', await inside(daemon, name, 'ls', '/sys/class/net'), 'eth7', false);
}

/** The leftovers of a stopped container on the host. */
function findRemains({ left }: Findings, world: KillWorld, name: string): void {
  if (world.runtime === 'sim') {
    if (simState(world, name) !== undefined) left.push(`a simulated container ${name}`);
    return;
  }
  left.push(...portsOf(world).map((port) => `the interface ${port}`));
  left.push(...hostRemains(world.dir).filter((line) => line.includes(`/containers/${name}/`)));
}

function portsOf({ bridge }: KillWorld): readonly string[] {
  const dir = `/sys/class/net/${bridge}/brif`;
  return existsSync(dir) ? readdirSync(dir) : [];
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      resolve(true);
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
  });
}
