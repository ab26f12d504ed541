// A stock LXD and a daemon that can reach each other over TLS, and the stock client with both as remotes: `lxd:` has an image busybox.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeSeeded, type TestDaemon, type TestDaemonOptions } from '../daemons/daemon.ts';
import { buildBusyboxImage } from '../images/busybox.ts';
import { freePort } from './free-port.ts';
import { lxcClient } from './lxd-clients.ts';
import { startStockLxd, type StockLxd } from './stock-lxd.ts';

export interface LxdAndDaemon {
  readonly lxd: StockLxd;
  readonly daemon: TestDaemon;
  readonly lxc: ReturnType<typeof lxcClient>;
  cleanUp(): Promise<void>;
}

/** Both have a pool `default` of the driver dir, which the default profile names. */
export async function openLxdAndDaemon(prefix: string, options: TestDaemonOptions = {}): Promise<LxdAndDaemon> {
  const home = mkdtempSync(join(realpathSync(tmpdir()), prefix));
  const lxd = await startStockLxd();
  let daemon: TestDaemon | undefined;
  const cleanUp = async (): Promise<void> => {
    await daemon?.cleanUp();
    await lxd.cleanUp();
    rmSync(home, { recursive: true, force: true });
  };
  try {
    const port = await furnishLxd(lxd, home);
    const socket = join(home, 'lxd', 'unix.socket');
    daemon = await makeSeeded({ ...options, lxd: { socket, https: '127.0.0.1:0' } });
    const lxc = await clientOfBoth(home, socket, port);
    return { lxd, daemon, lxc, cleanUp };
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

/** Gives LXD a port, which it returns, a pool `default` of the driver dir, and an image `busybox`. */
export async function furnishLxd(lxd: StockLxd, home: string): Promise<number> {
  const port = await freePort();
  await lxd.call('PUT', '/1.0', {
    config: { 'core.https_address': `127.0.0.1:${port}`, 'core.trust_password': 'x' },
  });
  await lxd.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
  const root = { path: '/', pool: 'default', type: 'disk' };
  await lxd.call('PUT', '/1.0/profiles/default', { devices: { root } });
  const built = await buildBusyboxImage(join(home, 'image'), {});
  const upload = await lxd.call('POST', '/1.0/images', readFileSync(built.metadataPath));
  const { metadata } = await lxd.get(`${String(upload.body.operation)}/wait`);
  const target = (metadata as { fingerprint: string }).fingerprint;
  await lxd.call('POST', '/1.0/images/aliases', { name: 'busybox', target });
  return port;
}

/** The stock client, trusted by the daemon at `socket` as `gantry:` and by the LXD at `port` as `lxd:`. */
export async function clientOfBoth(home: string, socket: string, port: number): Promise<LxdAndDaemon['lxc']> {
  for (const name of ['admin', 'user']) mkdirSync(join(home, name));
  const admin = lxcClient(dirname(socket), join(home, 'admin'));
  const token = (await admin('config', 'trust', 'add', '--name', 'mover')).trim().split('\n').at(-1) ?? '';
  const lxc = lxcClient(join(home, 'nowhere'), join(home, 'user'));
  await lxc('remote', 'add', 'gantry', token);
  await lxc('remote', 'add', 'lxd', `https://127.0.0.1:${port}`, '--accept-certificate', '--password', 'x');
  return lxc;
}

/** The directory of a container, or of a snapshot of it, in a pool of either side. */
export const treeIn = ({ dir }: { readonly dir: string }, pool: string, name: string, snapshot?: string): string =>
  snapshot === undefined
    ? join(dir, 'storage-pools', pool, 'containers', name)
    : join(dir, 'storage-pools', pool, 'containers-snapshots', name, snapshot);
