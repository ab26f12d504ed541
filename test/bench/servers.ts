// The servers under measurement: the bundled gantryd as a separate process, and an LXD that already runs. Gives each the same pool,
// network and profiles, and removes everything it made.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createClient, type Client } from '../../server/client/client.ts';
import { lxdName } from './report.ts';
import { inParallel, Wire } from './wire.ts';

export const names = {
  pool: 'gantry-bench',
  profile: 'gantry-bench',
  /** For the 200 containers whose profile is replaced. */
  sharedProfile: 'gantry-bench-shared',
  /** Runs with a nic on the network. */
  nicProfile: 'gantry-bench-nic',
  imageFile: 'gantry-bench.tar.gz',
  container: (index: number) => `gantry-bench-${index}`,
} as const;
const own = /^gantry-bench/;

export interface Server {
  readonly name: string;
  readonly wire: Wire;
  /** For sessions, which a wire cannot open. */
  readonly client: Client;
  readonly headerPrefix: string;
  readonly isReal: boolean;
  /** LXD is slow enough that fewer repeats suffice. */
  readonly rounds: (ours: number, lxd: number) => number;
  readonly pid: number;
  close(): Promise<void>;
}

export const gantrydPath = fileURLToPath(new URL('../../bin/gantryd.js', import.meta.url));

export interface Started {
  readonly child: ChildProcess;
  readonly socket: string;
  readonly readyMs: number;
  stop(): Promise<void>;
}

/** Starts the bundled daemon and waits for its line that it is ready. */
export async function startGantryd(stateDir: string, runtime: 'lxc' | 'sim'): Promise<Started> {
  const startedAt = performance.now();
  // A separate process group: the interrupt of a terminal reaches the bench alone, which then cleans up.
  const child = spawn(
    process.execPath,
    [gantrydPath, '--state-dir', stateDir, '--runtime', runtime, '--log-level', 'error'],
    { stdio: ['ignore', 'pipe', 'inherit'], detached: true },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const line = await Promise.race([
    new Promise<string>((resolve) => createInterface({ input: child.stdout }).once('line', resolve)),
    ended.then(() => undefined),
  ]);
  const readyMs = performance.now() - startedAt;
  if (line === undefined) throw new Error(`gantryd --runtime ${runtime} ended before it was ready`);
  const { socket } = JSON.parse(line) as { socket: string };
  return {
    child,
    socket,
    readyMs,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

export async function openGantryd(runtime: 'lxc' | 'sim'): Promise<Server> {
  const dir = await temporaryDir();
  const started = await startGantryd(dir, runtime);
  const wire = new Wire(started.socket);
  const client = createClient(`unix://${started.socket}`);
  const network = runtime === 'lxc' ? 'gtyb0' : 'gtyb2';
  const server: Server = {
    name: `gantryd ${runtime}`,
    wire,
    client,
    headerPrefix: 'x-svc-',
    isReal: runtime === 'lxc',
    rounds: (ours) => ours,
    pid: started.child.pid ?? 0,
    close: async () => {
      try {
        await takeAway(wire, network);
      } finally {
        await client.close();
        await wire.close();
        await started.stop();
        await rm(dir, { recursive: true, force: true });
      }
    },
  };
  await provideOrClose(server, network, 0);
  return server;
}

export function lxdSocket(): string {
  return join(process.env['LXD_DIR'] ?? '/var/lib/lxd', 'unix.socket');
}

/** The LXD that listens on this host; undefined without one, after printing how to start it. */
export async function openLxd(): Promise<Server | undefined> {
  const socket = lxdSocket();
  const wire = new Wire(socket);
  const found = existsSync(socket) ? await wire.get('/1.0').catch(() => undefined) : undefined;
  if (found === undefined) {
    await wire.close();
    process.stderr.write(
      `No LXD answers at ${socket}: going on without the comparison. To have it, install LXD 5.0 and start it, for ` +
        `example as root with\n  mkdir -p /tmp/lxd-bench && LXD_DIR=/tmp/lxd-bench lxd &\nthen run the bench with the same LXD_DIR.\n`,
    );
    return undefined;
  }
  const client = createClient(`unix://${socket}`);
  const { environment } = found as { environment: { server_pid: number } };
  const server: Server = {
    name: lxdName,
    wire,
    client,
    headerPrefix: 'x-lxd-',
    isReal: true,
    rounds: (_ours, lxd) => lxd,
    pid: environment.server_pid,
    close: async () => {
      try {
        await takeAway(wire, 'gtyb1');
      } finally {
        await client.close();
        await wire.close();
      }
    },
  };
  // An earlier run may have been killed before it could clean up.
  await takeAway(wire, 'gtyb1');
  await provideOrClose(server, 'gtyb1', 1);
  return server;
}

async function provideOrClose(server: Server, network: string, subnet: number): Promise<void> {
  try {
    await provide(server.wire, network, subnet);
  } catch (error) {
    await server.close().catch(() => {});
    throw error;
  }
}

async function provide(wire: Wire, network: string, subnet: number): Promise<void> {
  const config = { 'ipv4.address': `10.215.${subnet}.1/24`, 'ipv4.nat': 'false', 'ipv6.address': 'none' };
  const root = { type: 'disk', path: '/', pool: names.pool };
  const eth0 = { type: 'nic', nictype: 'bridged', parent: network, name: 'eth0' };
  await wire.change('POST', '/1.0/storage-pools', { name: names.pool, driver: 'dir', config: {} });
  await wire.change('POST', '/1.0/networks', { name: network, type: 'bridge', config });
  await wire.change('POST', '/1.0/profiles', { name: names.profile, config: {}, devices: { root } });
  await wire.change('POST', '/1.0/profiles', { name: names.sharedProfile, config: {}, devices: {} });
  await wire.change('POST', '/1.0/profiles', { name: names.nicProfile, config: {}, devices: { root, eth0 } });
}

/** Only objects with the bench's names. */
async function takeAway(wire: Wire, network: string): Promise<void> {
  const never = new AbortController().signal;
  await removeContainers(wire, never);
  const images = (await wire.get('/1.0/images?recursion=1')) as { fingerprint: string; filename: string }[];
  for (const image of images) {
    if (image.filename === names.imageFile) await wire.change('DELETE', `/1.0/images/${image.fingerprint}`);
  }
  for (const kind of ['profiles', 'networks', 'storage-pools']) {
    for (const url of (await wire.get(`/1.0/${kind}`)) as string[]) {
      const name = url.slice(url.lastIndexOf('/') + 1);
      if (own.test(name) || name === network) await wire.change('DELETE', url);
    }
  }
}

export async function removeContainers(wire: Wire, signal: AbortSignal, project = 'default'): Promise<void> {
  const containers = (await wire.get(`/1.0/containers?recursion=1&project=${project}`)) as {
    name: string;
    status: string;
  }[];
  await inParallel(
    containers.filter(({ name }) => own.test(name)),
    async ({ name, status }) => {
      const path = `/1.0/containers/${name}`;
      const query = `?project=${project}`;
      if (status !== 'Stopped')
        await wire.change('PUT', `${path}/state${query}`, { action: 'stop', force: true, timeout: 30 });
      await wire.change('DELETE', `${path}${query}`);
    },
    signal,
  );
}

/** On disk, like the state of a real daemon, and not below /tmp: ext4 is slow to make files where many were just deleted. */
export async function temporaryDir(): Promise<string> {
  return mkdtemp(join(await temporaryParent(), 'gantry-bench-'));
}

export const temporaryParent = (): Promise<string> => realpath(process.env['TMPDIR'] ?? '/var/tmp');

/** Resident memory of a whole process. */
export function residentMb(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1]) / 1024;
}

/** Processor time of a process until now, or of its ended children, in milliseconds (proc(5): clock ticks of 10 ms). */
export function processorMs(pid: number | 'self', whose: 'own' | 'children' = 'own'): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const first = whose === 'own' ? 11 : 13;
  return ((fields[first] ?? 0) + (fields[first + 1] ?? 0)) * 10;
}
