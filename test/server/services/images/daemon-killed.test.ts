// Images in progress leave nothing behind when the daemon is killed, or the disk is full.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, createContainer, makeDaemon, type Json } from '../../../support/daemons/daemon.ts';
import { bundleDaemon, read, settle, startChild } from '../../../support/daemons/child-process.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../../../support/images/hostile.ts';
import { fakeServer, serveDirect, sha256, type Handler } from '../../../support/images/remotes.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: images on a full disk: mounting a small one needs root');

const bundle = bundleDaemon();
const folder = tempFolder('gantry-imgkill-');

const filesIn = (dir: string): string[] =>
  (readdirSync(join(dir, 'images'), { recursive: true }) as string[]).filter((name) => name !== '.uploads');
const grown = (dir: string): boolean => filesIn(dir).some((name) => statSync(join(dir, 'images', name)).size > 0);
let count = 0;
const image = (): Buffer =>
  tarOf({ ...metadataFile, content: `${goodMetadata}properties: {n: k${(count += 1)}}\n` }, rootfsDirectory);

test('a daemon killed while it pulls and publishes leaves no image and no file, and can do both afterwards', async () => {
  const dir = mkdtempSync(join(folder, 'state-'));
  const bytes = image();
  const held: ServerResponse[] = [];
  const holding: Handler = (request, response) => {
    if (request.method === 'HEAD') return serveDirect(bytes)(request, response);
    response.writeHead(200, { 'content-length': bytes.length });
    response.write(bytes.subarray(0, 600), () => held.push(response));
  };
  const server = await fakeServer('http', holding);
  let daemon = await startChild(bundle, dir, 'sim');
  try {
    await settle(daemon, 'POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
    const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
    await settle(daemon, 'POST', '/1.0/containers', { name: 'c', source: { type: 'none' }, devices });
    execFileSync('sh', ['-c', 'head -c 40M /dev/urandom > big'], {
      cwd: join(dir, 'storage-pools/default/containers/c/rootfs'),
    });
    const pull = { source: { type: 'url', url: server.url } };
    const publish = {
      source: { type: 'container', name: 'c' },
      compression_algorithm: 'gzip',
      aliases: [{ name: 'mine' }],
    };
    for (const body of [pull, publish]) {
      const before = held.length;
      expect((await call(daemon, 'POST', '/1.0/images', body)).status).toBe(202);
      await until(() => (body === pull ? held.length > before : grown(dir)));
      await daemon.kill('SIGKILL');
      daemon = await startChild(bundle, dir, 'sim');
      expect(filesIn(dir)).toEqual([]);
      expect(await read(daemon, '/1.0/images')).toEqual([]);
      expect(await read(daemon, '/1.0/images/aliases')).toEqual([]);
    }
    server.handle = serveDirect(bytes);
    const fast = { ...publish, compression_algorithm: 'none' };
    for (const body of [pull, fast]) {
      const { operation } = await settle(daemon, 'POST', '/1.0/images', body);
      expect([operation?.status, operation?.err]).toEqual(['Success', '']);
    }
    expect(await read(daemon, '/1.0/images')).toHaveLength(2);
  } finally {
    await daemon.kill('SIGKILL');
    await server.close();
  }
});

test.skipIf(!isRoot)(
  'a full disk fails pulls and publishing with a clear error and leaves nothing behind',
  async () => {
    const [dir, pools] = [mkdtempSync(join(folder, 'small-')), join(folder, 'pools')];
    mkdirSync(pools, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', dir]);
    const big = Buffer.alloc(40 * 1024 * 1024, 1);
    const server = await fakeServer('http', (request, response) => {
      if (request.method === 'HEAD') return serveDirect(big)(request, response);
      // Without a length: the lack of space is found during the transfer.
      response.writeHead(200);
      response.end(big);
    });
    const daemon = await makeDaemon({ dir }).catch((error: unknown) => {
      execFileSync('umount', ['-l', dir]);
      throw error;
    });
    try {
      await daemon.call('POST', '/1.0/storage-pools', { name: 'away', driver: 'dir', config: { source: pools } });
      await createContainer(daemon, 'c', { devices: { root: { type: 'disk', path: '/', pool: 'away' } } });
      execFileSync('sh', ['-c', 'head -c 40M /dev/urandom > big'], { cwd: join(pools, 'containers/c/rootfs') });
      const failing = async (body: object): Promise<string> => {
        const operation = await daemon.run('POST', '/1.0/images', body);
        expect(operation.status).toBe('Failure');
        return operation.err;
      };
      expect(await failing({ source: { type: 'url', url: server.url } })).toMatch(
        /larger than the \d+ bytes|no space is left/,
      );
      expect(await failing({ source: { type: 'container', name: 'c' } })).toMatch(/[Nn]o space/);
      expect(await failing({ source: { type: 'container', name: 'c' }, compression_algorithm: 'none' })).toMatch(
        /no space/,
      );
      expect(filesIn(dir)).toEqual([]);
      const small = image();
      server.handle = serveDirect(small);
      await daemon.ok('POST', '/1.0/images', { source: { type: 'url', url: server.url } });
      expect(
        ((await daemon.get('/1.0/images?recursion=1')) as Json[]).map(({ fingerprint }) => fingerprint as string),
      ).toEqual([sha256(small)]);
    } finally {
      await daemon.stop();
      await server.close();
      execFileSync('umount', ['-l', dir]);
    }
  },
  60_000,
);
