// A state directory with one container that has a device of every kind, under a daemon that dies at chosen steps.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDaemon } from '../../support/daemons/daemon.ts';
import { settle, type ChildDaemon } from '../../support/daemons/child-process.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { DoomedDaemon } from './doomed-daemon.ts';

export interface KillWorld {
  readonly runtime: 'sim' | 'lxc';
  readonly dir: string;
  readonly bridge: string;
  /** Port of the host that the proxy device listens on. */
  readonly port: number;
  readonly daemon: DoomedDaemon;
}

export const container = 'c';
export const usualConfig = { 'limits.memory': '64MiB' };

/**
 * Devices that exercise every part of a start: a nic with rates, mounts, a node, a forward. The host's perl queries the guest socket.
 */
export function devicesOf({ dir, bridge, port, runtime }: Omit<KillWorld, 'daemon'>): Record<string, object> {
  const folders = ['/usr', '/lib', '/lib64'].filter((path) => existsSync(path));
  const perl = folders.map((path) => [
    `host${path.replace('/', '-')}`,
    { type: 'disk', source: path, path, readonly: 'true' },
  ]);
  return {
    eth0: { type: 'nic', nictype: 'bridged', parent: bridge, name: 'eth0', 'limits.ingress': '50Mbit' },
    shared: { type: 'disk', source: join(dir, 'shared'), path: '/srv/shared' },
    zero: { type: 'unix-char', source: '/dev/zero', path: '/dev/mine' },
    web: { type: 'proxy', listen: `tcp:127.0.0.1:${port}`, connect: 'tcp:127.0.0.1:80' },
    ...(runtime === 'sim' ? {} : (Object.fromEntries(perl) as Record<string, object>)),
  };
}

/** Two worlds of one process need different tags, of one letter. */
export async function openWorld(entry: string, runtime: 'sim' | 'lxc', tag: string): Promise<KillWorld> {
  const dir = await mkdtemp(join(await realpath(tmpdir()), 'gtkl-'));
  mkdirSync(join(dir, 'shared'));
  writeFileSync(join(dir, 'shared/here'), 'shared\n');
  const daemon = new DoomedDaemon({ entry }, dir, runtime);
  const world = { runtime, dir, bridge: `gtkl${tag}${process.pid % 100_000}`, port: await freePort(), daemon };
  try {
    await furnish(world, await daemon.start());
  } catch (error) {
    await closeWorld(world).catch(() => {});
    throw error;
  }
  return world;
}

async function furnish(world: KillWorld, child: ChildDaemon): Promise<void> {
  const { dir, runtime, bridge } = world;
  await done(child, 'POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
  const root = { type: 'disk', path: '/', pool: 'default' };
  await done(child, 'PUT', '/1.0/profiles/default', { devices: { root } });
  const config = { 'ipv4.address': 'auto', 'ipv6.address': 'none', 'ipv4.nat': 'false' };
  await done(child, 'POST', '/1.0/networks', { name: bridge, config });
  let source: object = { type: 'none' };
  if (runtime === 'lxc') {
    const built = await buildBusyboxImage(join(dir, 'image-source'), { busybox: { dhcp: false } });
    await done(child, 'POST', '/1.0/images', await readFile(built.metadataPath));
    source = { type: 'image', fingerprint: built.fingerprint };
  }
  const body = { name: container, source, config: usualConfig, devices: devicesOf(world) };
  await done(child, 'POST', '/1.0/containers', body);
}

/** Sends, waits for the end, and throws on a failure. */
export async function done(child: ChildDaemon, method: string, path: string, body?: object | Buffer): Promise<void> {
  const { status, operation, metadata } = await settle(child, method, path, body);
  if (status >= 300 || (operation !== undefined && operation.status !== 'Success'))
    throw new Error(`${method} ${path} answered ${status} ${operation?.err ?? JSON.stringify(metadata)}`);
}

/** Throws when the host has leftovers of the world. */
export async function closeWorld({ daemon, dir, runtime, bridge }: KillWorld): Promise<void> {
  await daemon.kill();
  const last = await makeDaemon({ runtime, dir });
  await last.cleanUp();
  await rm(dir, { recursive: true, force: true });
  const left = [
    ...(existsSync(`/sys/class/net/${bridge}`) ? [`the bridge ${bridge}`] : []),
    ...readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(dir)),
  ];
  if (left.length > 0) throw new Error(`left on the host: ${left.join(', ')}`);
}

export const containerPath = `/1.0/containers/${container}`;
