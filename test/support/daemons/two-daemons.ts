// Two daemons that can reach each other over TLS, with a client of each: for transfers between servers.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, type Client } from '../../../server/client/index.ts';
import { makeDaemon, type TestDaemon, type TestDaemonOptions } from './daemon.ts';
import { tempFolder } from '../temp-folder.ts';
import { makeClient, type ClientCertificate } from './tls.ts';

export interface Side {
  readonly daemon: TestDaemon;
  /** Over its socket. */
  readonly local: Client;
  /** Over TLS, with a certificate that it trusts and its pinned certificate. */
  readonly remote: Client;
  /** PEM. */
  readonly certificate: string;
  /** HOST:PORT */
  readonly address: string;
  readonly driver: 'dir' | 'btrfs';
}

export interface TwoDaemons {
  readonly a: Side;
  readonly b: Side;
  readonly certificate: ClientCertificate;
  cleanUp(): Promise<void>;
}

export interface TwoOptions {
  readonly runtime?: TestDaemonOptions['runtime'];
  readonly drivers?: readonly ['dir' | 'btrfs', 'dir' | 'btrfs'];
  /** More options for the daemon with the state directory `dir`. */
  readonly more?: (dir: string) => Partial<TestDaemonOptions>;
}

export async function twoDaemons({
  runtime = 'sim',
  drivers = ['dir', 'dir'],
  more,
}: TwoOptions = {}): Promise<TwoDaemons> {
  const certificate = await makeClient('mover');
  const sides: Side[] = [];
  const cleanUp = async (): Promise<void> => {
    for (const { local, remote, daemon } of sides) {
      await local.close();
      await remote.close();
      await daemon.cleanUp();
    }
  };
  try {
    for (const driver of drivers) sides.push(await openSide({ runtime, ...given(more) }, driver, certificate));
  } catch (error) {
    await cleanUp();
    throw error;
  }
  const [a, b] = sides;
  if (a === undefined || b === undefined) throw new Error('two daemons were asked for');
  return { a, b, certificate, cleanUp };
}

function given(more: TwoOptions['more']): Partial<TestDaemonOptions> {
  if (more === undefined) return {};
  const dir = tempFolder('gty2-');
  return { dir, ...more(dir) };
}

async function openSide(options: TestDaemonOptions, driver: 'dir' | 'btrfs', client: ClientCertificate): Promise<Side> {
  const daemon = await makeDaemon({ ...options, https: '127.0.0.1:0' });
  try {
    const size = driver === 'btrfs' ? { config: { size: '512MiB' } } : {};
    await done(daemon, 'POST', '/1.0/storage-pools', { name: 'default', driver, ...size });
    const root = { type: 'disk', path: '/', pool: 'default' };
    await done(daemon, 'PUT', '/1.0/profiles/default', { devices: { root } });
    const bare = client.certPem.replace(/-----[^-]+-----|\s/g, '');
    await done(daemon, 'POST', '/1.0/certificates', { type: 'client', certificate: bare });
    const { certificate } = (await daemon.get('/1.0')).environment as { certificate: string };
    const address = daemon.daemon.httpsAddress() ?? '';
    const local = createClient(`unix://${daemon.socketPath}`);
    const remote = createClient(`https://${address}`, {
      tls: { certificate: client.certPem, key: client.keyPem, serverCertificate: certificate },
    });
    return { daemon, local, remote, certificate, address, driver };
  } catch (error) {
    await daemon.cleanUp();
    throw error;
  }
}

async function done(daemon: TestDaemon, method: string, path: string, body: object): Promise<void> {
  const { status, bytes } = await daemon.call(method, path, body);
  if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${bytes.toString()}`);
}

export const volumeDir = ({ daemon }: Pick<Side, 'daemon'>, name: string): string =>
  join(daemon.dir, 'storage-pools/default/containers', name);
export const snapshotDir = ({ daemon }: Pick<Side, 'daemon'>, name: string, snapshot: string): string =>
  join(daemon.dir, 'storage-pools/default/containers-snapshots', name, snapshot);

/** Makes a tree with everything that copies tend to lose: owners, modes, both kinds of links, holes, old times, odd names. */
export function plant(root: string): void {
  const rootfs = join(root, 'rootfs');
  mkdirSync(join(rootfs, 'etc/deep'), { recursive: true });
  writeFileSync(join(rootfs, 'etc/hostname'), 'one\n');
  writeFileSync(join(rootfs, 'etc/deep/odd name\n*'), 'odd');
  const script = `
    cd "$1"
    ln -sf /etc/shadow link; ln -f etc/hostname hard
    truncate -s 3M hole; printf end >> hole
    [ "$(id -u)" = 0 ] && { chown 1000:1001 etc/deep; chown 33:33 hole; chmod 4755 etc/hostname; mknod null c 1 3; }
    touch -d '2001-02-03 04:05:06.789' etc/hostname
    mkfifo pipe
  `;
  execFileSync('sh', ['-ec', script, 'sh', rootfs]);
}

/** Everything below a directory as text: kinds, modes, owners, times of files, content, names of the same file. */
export function describeTree(root: string): string {
  const lines: string[] = [];
  const firstNames = new Map<string, string>();
  const visit = (path: string, name: string): void => {
    const stats = lstatSync(path);
    const facts = [name, (stats.mode & 0o177777).toString(8), `${stats.uid}:${stats.gid}`];
    if (stats.isDirectory()) {
      lines.push(facts.join(' '));
      for (const entry of readdirSync(path).toSorted()) visit(join(path, entry), `${name}/${entry}`);
      return;
    }
    const file = `${stats.dev}:${stats.ino}`;
    const first = firstNames.get(file) ?? name;
    firstNames.set(file, first);
    if (stats.isSymbolicLink()) facts.push(readlinkSync(path));
    else if (stats.isFile())
      facts.push(stats.mtime.toISOString(), createHash('sha256').update(readFileSync(path)).digest('hex'));
    else facts.push(String(stats.rdev));
    lines.push([...facts, first].join(' '));
  };
  visit(root, '.');
  return lines.join('\n');
}
