// The world of the tests with clients of LXD: two daemons with TLS listeners, images in files and on servers of this machine, and key pairs.
import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { hostRemains, makeDaemon, seed, type TestDaemon } from '../../support/daemons/daemon.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { fakeServer, serveDirect, serveTree, streamTree, type FakeServer } from '../../support/images/remotes.ts';
import { makePair } from '../../support/daemons/tls.ts';

export interface Server {
  readonly daemon: TestDaemon;
  readonly socket: string;
  readonly https: string;
  /** Path of its certificate. */
  readonly ca: string;
}

export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface ClientWorld {
  readonly work: string;
  readonly first: Server;
  readonly second: Server;
  /** Paths and fingerprints of images that no server has yet. */
  readonly images: Readonly<
    Record<'whole' | 'metadata' | 'rootfs' | 'whole_fingerprint' | 'split_fingerprint', string>
  >;
  readonly streams: FakeServer;
  readonly direct: FakeServer;
  /** A new one. */
  keyPair(name: string): Promise<KeyPair>;
  cleanUp(): Promise<void>;
}

export const password = 'a-trust-password';

export async function makeClientWorld(runtime: 'sim' | 'lxc'): Promise<ClientWorld> {
  const work = await mkdtemp(join(await realpath(tmpdir()), 'gtyp-'));
  const daemons: TestDaemon[] = [];
  const remotes: FakeServer[] = [];
  const cleanUp = async (): Promise<void> => {
    for (const remote of remotes) await remote.close();
    for (const daemon of daemons) await daemon.cleanUp();
    await rm(work, { recursive: true, force: true });
    for (const daemon of daemons) expect(hostRemains(daemon.dir)).toEqual([]);
  };
  try {
    const build = (name: string, metadata: string, split = false) =>
      buildBusyboxImage(join(work, name), {
        split,
        metadata,
        busybox: { dhcp: false, withoutPrograms: runtime === 'sim' },
      });
    const [base, whole, parts, streamed] = [
      await build('base', metadataOf('base')),
      await build('whole', metadataOf('whole')),
      await build('parts', metadataOf('parts'), true),
      await build('streamed', metadataOf('streamed'), true),
    ];
    const serve = async (name: string): Promise<Server> => {
      const socket = join(work, name, 'unix.socket');
      const address = `127.0.0.1:${await freePort()}`;
      const daemon = await makeDaemon({ runtime, lxd: { socket, https: address } });
      daemons.push(daemon);
      await seed(daemon);
      await daemon.ok('POST', '/1.0/images', await readFile(base.metadataPath), { 'x-svc-aliases': 'alias=bb' });
      await daemon.call('PATCH', '/1.0', { config: { 'core.trust_password': password } });
      const ca = join(work, `${name}.crt`);
      writeFileSync(ca, (await daemon.get('/1.0')).environment.certificate);
      return { daemon, socket, https: `https://${address}`, ca };
    };
    const [first, second] = [await serve('one'), await serve('two')];
    const version = {
      metadata: await readFile(streamed.metadataPath),
      rootfs: await readFile(streamed.rootfsPath ?? ''),
      ftype: 'root.tar.xz',
    } as const;
    const product = { aliases: 'busy/1,busy', arch: 'amd64', versions: { 20200101: version } };
    const streams = await fakeServer('http', serveTree(streamTree({ busy: product })));
    const direct = await fakeServer('http', serveDirect(await readFile(whole.metadataPath)));
    remotes.push(streams, direct);
    return {
      work,
      first,
      second,
      streams,
      direct,
      images: {
        whole: whole.metadataPath,
        metadata: parts.metadataPath,
        rootfs: parts.rootfsPath ?? '',
        whole_fingerprint: whole.fingerprint,
        split_fingerprint: parts.fingerprint,
      },
      keyPair: (name) => keyPairIn(work, name),
      cleanUp,
    };
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

const metadataOf = (name: string): string =>
  `architecture: x86_64\ncreation_date: 1700000000\nproperties: {description: Busybox ${name}, os: busybox}\n`;

async function keyPairIn(work: string, name: string): Promise<KeyPair> {
  const made = await makePair(name);
  const dir = join(work, 'keys', name);
  mkdirSync(dir, { recursive: true });
  const pair = { cert: join(dir, 'client.crt'), key: join(dir, 'client.key') };
  writeFileSync(pair.cert, made.certPem);
  writeFileSync(pair.key, made.keyPem);
  return pair;
}
