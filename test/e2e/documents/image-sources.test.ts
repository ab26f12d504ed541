// Images from other servers as documents: fetched once, found unchanged without a request to their source, renewed only by gantry
// update. On the simulation and on a stock LXD, from servers on this machine.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import {
  fakeServer,
  serveDirect,
  serveTree,
  sha256,
  streamTree,
  type FakeServer,
} from '../../support/images/remotes.ts';
import { until } from '../../support/until.ts';
import { startStockLxd, stockLxdMissing } from '../../support/hosts/stock-lxd.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = stockLxdMissing();
if (missing !== undefined) console.log(`skipped: images from elsewhere on a stock LXD: ${missing}`);

let count = 0;
const unique = (): string => `${process.pid}-${(count += 1)}-${randomBytes(3).toString('hex')}`;
const metadata = (): string => `${goodMetadata}properties: {n: "${unique()}"}\n`;
/** A whole image; each one is different. */
const tarball = (): Buffer => tarOf({ name: 'metadata.yaml', content: metadata(), mode: 0o644 }, rootfsDirectory);
const split = (): { metadata: Buffer; rootfs: Buffer } => ({
  metadata: tarOf({ ...metadataFile, content: metadata() }),
  rootfs: tarOf({ name: './', flag: '5' }, { name: './etc', flag: '5' }, { name: './etc/motd', content: unique() }),
});
const busy = (versions: Record<string, ReturnType<typeof split>>): Map<string, Buffer> =>
  streamTree({ busy: { aliases: 'busy/1,busy', arch: 'amd64', versions } });

type Server = Pick<TestDaemon, 'socketPath' | 'call' | 'get' | 'cleanUp'>;

/** One server, one folder of manifests. */
class Host {
  readonly server: Server;
  readonly dir = tempFolder('gtis-');
  readonly lock = join(this.dir, 'gantry.lock');
  constructor(server: Server) {
    this.server = server;
  }
  async gantry(verb: string, manifest: string, ...more: readonly string[]): Promise<CliRun> {
    const file = join(this.dir, 'stack.yaml');
    writeFileSync(file, manifest);
    return cli([verb, '-f', file, '--host', `unix://${this.server.socketPath}`, ...more]);
  }
  async apply(manifest: string, ...more: readonly string[]): Promise<CliRun> {
    const run = await this.gantry('apply', manifest, '--auto-approve', ...more);
    expect(run.code, run.stdout + run.stderr).toBe(0);
    return run;
  }
  async settled(manifest: string): Promise<void> {
    const run = await this.gantry('plan', manifest, '--detailed-exitcode');
    expect(run.code, `a second plan\n${run.stdout}${run.stderr}`).toBe(0);
  }
  async fails(manifest: string, words: RegExp): Promise<void> {
    const run = await this.gantry('apply', manifest, '--auto-approve');
    expect(run.code, run.stdout + run.stderr).toBe(1);
    expect(run.stdout + run.stderr).toMatch(words);
    await this.empty();
  }
  async target(alias: string): Promise<string> {
    const { target } = (await this.server.get(`/1.0/images/aliases/${alias}`)) as { target: string };
    return target;
  }
  async destroy(manifest: string): Promise<void> {
    const run = await this.gantry('destroy', manifest, '--auto-approve');
    expect(run.code, run.stdout + run.stderr).toBe(0);
  }
  async empty(): Promise<void> {
    // Some servers delete in the background.
    await until(async () => ((await this.server.get('/1.0/images')) as string[]).length === 0);
    expect(await this.server.get('/1.0/images/aliases')).toEqual([]);
  }
  async close(): Promise<void> {
    await this.server.cleanUp();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

const indented = (pem: string): string => pem.trimEnd().replaceAll(/^/gm, '    ');
const pinned = ({ certificate }: FakeServer): string =>
  certificate === '' ? '' : `  certificate: |\n${indented(certificate)}\n`;
const image = (source: string, more = 'aliases: [busy]\n'): string =>
  `kind: image\nname: busy\n${more}source:\n${source}`;
const container =
  '---\nkind: storage_pool\nname: p1\ndriver: dir\n---\nkind: container\nname: c1\nstate: stopped\nsource: { type: image, fingerprint: busy }\n' +
  'devices: { root: { type: disk, path: /, pool: p1 } }\n';

const hosts = [
  { host: 'sim', scheme: 'https', reason: undefined, open: (): Promise<Server> => makeDaemon({ runtime: 'sim' }) },
  // It requires names in certificates that these do not have.
  { host: 'a stock LXD', scheme: 'http', reason: missing, open: (): Promise<Server> => startStockLxd() },
] as const;

for (const { host: name, scheme, reason, open } of hosts) {
  describe.skipIf(reason !== undefined)(`on ${name}`, () => {
    let host: Host;
    const servers: FakeServer[] = [];
    beforeAll(async () => {
      host = new Host(await open());
    });
    afterAll(async () => {
      await Promise.all(servers.map((server) => server.close()));
      await host.close();
    });
    const serve = async (...all: Parameters<typeof fakeServer>): Promise<FakeServer> => {
      const server = await fakeServer(...all);
      servers.push(server);
      return server;
    };

    test('simplestreams: an image is fetched, used in the same run, unchanged while the source is unreachable, and renewed by update only', async () => {
      const [old, next] = [split(), split()];
      const server = await serve(scheme, serveTree(busy({ '20240101': old })));
      const source = `  type: image\n  protocol: simplestreams\n  server: ${server.url}\n  alias: busy/1\n${pinned(server)}`;
      const stack = image(source) + container;
      const planned = await host.gantry('plan', stack);
      expect(planned.stdout).toContain(`the server has no image from simplestreams:${server.url}#busy/1`);
      await host.apply(stack);
      const fingerprint = sha256(old.metadata, old.rootfs);
      expect(await host.target('busy')).toBe(fingerprint);
      const made = (await host.server.get('/1.0/containers/c1')) as { config: Record<string, string> };
      expect(made.config['volatile.base_image']).toBe(fingerprint);

      // Neither a newer image nor an unreachable source makes a difference.
      const { handle } = server;
      server.handle = (_, response) => void response.destroy();
      const asked = server.asked.length;
      await host.settled(stack);
      await host.apply(stack);
      expect(server.asked.length).toBe(asked);
      const drift = await host.gantry('drift', stack);
      expect(drift.code, drift.stdout + drift.stderr).toBe(0);

      server.handle = serveTree(busy({ '20240101': old, '20240202': next }));
      await host.settled(stack);
      const newer = sha256(next.metadata, next.rootfs);
      const updated = await host.gantry('update', stack);
      expect(updated.code, updated.stdout + updated.stderr).toBe(0);
      const locked = readFileSync(host.lock, 'utf8');
      expect(locked).toContain(`simplestreams:${server.url}#busy/1`);
      // Both servers cache lists of simplestreams for a while.
      const isSeen = locked.includes(newer);
      expect(locked).toContain(isSeen ? newer : fingerprint);
      await host.apply(stack);
      await host.settled(stack);
      expect(await host.target('busy')).toBe(isSeen ? newer : fingerprint);
      server.handle = handle;
      rmSync(host.lock);
      await host.destroy(stack);
      for (const url of (await host.server.get('/1.0/images')) as string[]) await host.server.call('DELETE', url);
      await host.empty();
    });

    test('url: the image at an address is recorded by the set, and update fetches a new one from there', async () => {
      const [old, next] = [tarball(), tarball()];
      const server = await serve('http', () => {});
      const direct = (bytes: Buffer): typeof server.handle =>
        serveDirect(bytes, { location: `${server.url}/files/image.tar` });
      server.handle = direct(old);
      const stack = image(`  type: url\n  url: ${server.url}/busy\n`);
      // As after a run that stopped right after the image was made: the next one finds it.
      const begun = await host.server.call('POST', '/1.0/images', {
        source: { type: 'url', url: `${server.url}/busy` },
      });
      expect(begun.status).toBe(202);
      await host.server.call('GET', `${String(begun.body.operation)}/wait`);
      await host.apply(stack);
      expect(await host.target('busy')).toBe(sha256(old));
      server.handle = direct(next);
      const asked = server.asked.length;
      await host.settled(stack);
      expect(server.asked.length).toBe(asked);
      expect((await host.gantry('update', stack)).stdout).toContain(sha256(next).slice(0, 12));
      const moved = await host.apply(stack);
      expect(moved.stdout).toContain('target');
      expect(await host.target('busy')).toBe(sha256(next));
      await host.settled(stack);
      // The old one is no longer declared: it is deleted on request.
      await host.apply(stack, '--set', 'default', '--prune');
      expect(await host.server.get('/1.0/images')).toEqual([`/1.0/images/${sha256(next)}`]);
      await host.destroy(stack);
      rmSync(host.lock);
      await host.empty();
    });

    test('an image is copied from a server with a socket on this machine', async () => {
      const other = await makeDaemon({ runtime: 'sim' });
      onTestFinished(() => other.cleanUp());
      const bytes = tarball();
      await other.ok('POST', '/1.0/images', bytes, { 'x-svc-aliases': 'alias=busy', 'x-svc-filename': 'busy.tar' });
      const stack = image(`  type: image\n  server: unix://${other.socketPath}\n  alias: busy\n`, 'public: true\n');
      await host.apply(stack);
      expect(await host.server.get(`/1.0/images/${sha256(bytes)}`)).toMatchObject({ public: true });
      await other.cleanUp();
      await host.settled(stack);
      await host.destroy(stack);
      await host.empty();
    });

    test('an image of another https server with a certificate is found again without a record, exported and adopted', async () => {
      const other = await makeDaemon({ runtime: 'sim', https: '127.0.0.1:0' });
      onTestFinished(() => other.cleanUp());
      const bytes = tarball();
      await other.ok('POST', '/1.0/images', bytes, { 'x-svc-aliases': 'alias=busy', 'x-svc-public': 'true' });
      const { certificate } = ((await other.get('/1.0')) as { environment: { certificate: string } }).environment;
      const server = `https://${other.daemon.httpsAddress() ?? ''}`;
      const stack = image(
        `  type: image\n  server: ${server}\n  alias: busy\n  certificate: |\n${indented(certificate)}\n`,
      );
      await host.apply(stack);
      await other.cleanUp();
      await host.settled(stack);
      const exported = await host.gantry(
        'plan',
        (await cli(['export', '--host', `unix://${host.server.socketPath}`])).stdout,
        '--detailed-exitcode',
      );
      expect(exported.code, exported.stdout + exported.stderr).toBe(0);
      // Another set finds it by its source on the server.
      const theirs = await host.gantry('plan', stack, '--set', 'theirs');
      expect(theirs.stdout).not.toContain('+ image/busy');
      await host.destroy(stack);
      await host.empty();
    });

    test('a failed fetch is reported and leaves nothing behind', async () => {
      const bytes = tarball();
      const server = await serve('http', () => {});
      server.handle = serveDirect(bytes, { location: `${server.url}/files/image.tar` });
      const wrong = 'a'.repeat(64);
      const url = `  type: url\n  url: ${server.url}/busy\n`;
      const changed = await host.gantry('apply', image(`${url}  fingerprint: ${wrong}\n`), '--auto-approve');
      expect(changed.code).toBe(1);
      expect(changed.stderr + changed.stdout).toContain(`is the image ${sha256(bytes)}, expected ${wrong}`);
      await host.empty();

      const tree = busy({ '20240101': split() });
      const streams = await serve(scheme, serveTree(tree));
      const from = (alias: string, at = streams.url): string =>
        image(`  type: image\n  protocol: simplestreams\n  server: ${at}\n  alias: ${alias}\n${pinned(streams)}`);
      await host.fails(from('nothing'), /create image\/busy[\s\S]*nothing|nothing[\s\S]*create image\/busy/i);
      await host.fails(from('busy/1', 'https://127.0.0.1:1'), /127\.0\.0\.1:1\b/);
      await host.fails(
        image(`  type: image\n  server: unix:///nowhere/unix.socket\n  alias: busy\n`),
        /\/nowhere\/unix\.socket/,
      );
      const secret = await host.gantry('plan', from('busy/1').replace('  alias:', '  secret: hush\n  alias:'));
      expect(secret.stdout).not.toContain('hush');
      const update = await host.gantry('update', from('nothing'));
      expect(update.code).toBe(1);
      expect(update.stderr).toContain('cannot fetch image/busy from its source');
      expect(existsSync(host.lock)).toBe(false);
    });
  });
}

describe('a slow source', () => {
  test('shows its progress', async () => {
    const host = new Host(await makeDaemon({ runtime: 'sim' }));
    const more = Array.from({ length: 8 }, () => ({
      name: `rootfs/${unique()}`,
      content: randomBytes(200_000).toString('hex'),
    }));
    const bytes = tarOf({ name: 'metadata.yaml', content: metadata(), mode: 0o644 }, rootfsDirectory, ...more);
    const pieces = Array.from({ length: 50 }, (_, index) =>
      bytes.subarray(Math.ceil(bytes.length / 50) * index, Math.ceil(bytes.length / 50) * (index + 1)),
    );
    const server = await fakeServer('http', () => {});
    server.handle = (request, response) => {
      if (request.method === 'HEAD') return serveDirect(bytes, { location: `${server.url}/image` })(request, response);
      response.writeHead(200, { 'content-length': bytes.length });
      const timer = setInterval(() => {
        const piece = pieces.shift();
        if (piece === undefined) {
          clearInterval(timer);
          response.end();
        } else response.write(piece);
      }, 30);
      response.once('close', () => clearInterval(timer));
    };
    try {
      const stack = image(`  type: url\n  url: ${server.url}/busy\n`);
      const done = await host.gantry('apply', stack, '--auto-approve', '--json');
      expect(done.code, done.stdout + done.stderr).toBe(0);
      const lines = done.stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { type: string; hook?: { percent?: number } });
      const shown = lines.flatMap(({ type, hook }) => (type === 'apply_progress' ? [hook?.percent] : []));
      expect(shown.some((percent) => typeof percent === 'number' && percent > 0 && percent < 100)).toBe(true);
      await host.settled(stack);
    } finally {
      await server.close();
      await host.close();
    }
  });
});

describe('an invalid source', () => {
  test('is refused offline, with its place', async () => {
    const dir = tempFolder('gtis-');
    const problems = async (source: string, more = ''): Promise<string> => {
      writeFileSync(join(dir, 'a.yaml'), image(source, more));
      return (await cli(['validate', '-f', join(dir, 'a.yaml')])).stderr;
    };
    try {
      expect(await problems('  type: url\n')).toContain('source.url must be the http or https address');
      expect(await problems('  type: image\n  alias: x\n')).toContain('source.server must be the https address');
      expect(await problems('  type: image\n  server: https://x\n')).toContain('source.alias is missing');
      expect(await problems('  type: tarball\n')).toContain('source.type');
      expect(await problems('  type: image\n  server: https://x\n  alias: a\n  protocol: ftp\n')).toContain(
        'simplestreams',
      );
      expect(await problems('  type: url\n  url: http://x/y\n', 'file: a.tar\n')).toContain('exclude each other');
      expect(await problems('  type: image\n  server: https://x\n  alias: a\n  fingerprint: XY\n')).toContain(
        'hexadecimal',
      );
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
