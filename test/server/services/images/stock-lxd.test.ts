// Images to and from a real LXD, where one is installed: pulled from it as a guest, and images published here unpacked there.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Operation } from '../../../../server/api/operation.ts';
import { cli } from '../../../support/cli/io.ts';
import { createContainer, type Json, makeSeeded, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../../../support/images/hostile.ts';
import { sha256 } from '../../../support/images/remotes.ts';
import { startStockLxd, stockLxdMissing, type StockLxd } from '../../../support/hosts/stock-lxd.ts';
import { freePort } from '../../../support/hosts/free-port.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const missing = stockLxdMissing();
if (missing !== undefined) console.log(`skipped: images of a real LXD, since ${missing}`);

describe.skipIf(missing !== undefined)('a real LXD', () => {
  let lxd: StockLxd | undefined;
  let daemon: TestDaemon;
  const folder = tempFolder('gantry-lxdimg-');
  let source: Json;
  beforeAll(async () => {
    daemon = await makeSeeded({ https: '127.0.0.1:0' });
    lxd = await startStockLxd();
    const port = await freePort();
    await lxd.call('PUT', '/1.0', { config: { 'core.https_address': `127.0.0.1:${port}` } });
    const { environment } = await lxd.get('/1.0');
    source = {
      type: 'image',
      mode: 'pull',
      server: `https://127.0.0.1:${port}`,
      protocol: 'lxd',
      certificate: environment.certificate,
    };
  });
  afterAll(async () => {
    await daemon?.cleanUp();
    await lxd?.cleanUp();
  });

  async function onLxd(bytes: Buffer, headers: Record<string, string>): Promise<void> {
    const answer = await lxd!.call('POST', '/1.0/images', bytes, headers);
    const ended = await lxd!.get(`${answer.body.operation}/wait`);
    expect([ended.status, ended.err]).toEqual(['Success', '']);
  }
  const succeeded = (operation: Operation): void => expect([operation.status, operation.err]).toEqual(['Success', '']);

  test('serves a public image by alias, for itself and for a container', async () => {
    const content = `${goodMetadata}properties: {os: busybox}\n`;
    const bytes = tarOf({ ...metadataFile, content }, rootfsDirectory, { name: 'rootfs/a', content: 'x' });
    await onLxd(bytes, { 'X-LXD-public': 'true', 'X-LXD-filename': 'one.tar' });
    const target = sha256(bytes);
    await lxd!.call('POST', '/1.0/images/aliases', { name: 'one/x', target });
    succeeded(await daemon.run('POST', '/1.0/containers', { name: 'c', source: { ...source, alias: 'one/x' } }));
    expect(await daemon.get(`/1.0/images/${target}`)).toMatchObject({
      cached: true,
      public: false,
      filename: 'one.tar',
    });
    expect((await daemon.get('/1.0/containers/c')).config).toMatchObject({
      'image.os': 'busybox',
      'volatile.base_image': target,
    });
    succeeded(
      await daemon.run('POST', '/1.0/images', {
        source: { ...source, alias: 'one/x' },
        auto_update: true,
        copy_aliases: true,
      }),
    );
    expect(await daemon.get(`/1.0/images/${target}`)).toMatchObject({
      cached: false,
      auto_update: true,
      aliases: [{ name: 'one/x' }],
    });
    const refreshed = await daemon.ok('POST', `/1.0/images/${target}/refresh`);
    expect(refreshed.metadata).toMatchObject({ refreshed: false });
  });

  test('serves a private image in two files for its secret', async () => {
    const metadata = tarOf({ ...metadataFile, content: `${goodMetadata}properties: {n: two}\n` });
    const rootfs = tarOf({ name: './', flag: '5' }, { name: './motd', content: 'hi' });
    const part = (name: string, bytes: Buffer): Buffer[] => [
      Buffer.from(`--b\r\nContent-Disposition: form-data; name="${name}"; filename="${name}"\r\n\r\n`),
      bytes,
      Buffer.from('\r\n'),
    ];
    const body = Buffer.concat([...part('metadata', metadata), ...part('rootfs', rootfs), Buffer.from('--b--\r\n')]);
    await onLxd(body, { 'Content-Type': 'multipart/form-data; boundary=b' });
    const fingerprint = sha256(metadata, rootfs);
    const refused = await daemon.run('POST', '/1.0/images', { source: { ...source, fingerprint } });
    expect([refused.status, refused.err]).toEqual(['Failure', expect.stringMatching(/a private image needs a secret/)]);
    const issued = await lxd!.call('POST', `/1.0/images/${fingerprint}/secret`, {});
    const secret = String(issued.metadata.metadata.secret);
    succeeded(await daemon.run('POST', '/1.0/images', { source: { ...source, fingerprint, secret } }));
    await createContainer(daemon, 'two', { source: { type: 'image', fingerprint } });
    expect(readFileSync(join(daemon.dir, 'storage-pools/default/containers/two/rootfs/motd'), 'utf8')).toBe('hi');
  });

  test('pulls from this daemon as from another LXD', async () => {
    const bytes = tarOf({ ...metadataFile, content: `${goodMetadata}properties: {n: four}\n` }, rootfsDirectory);
    await daemon.ok('POST', '/1.0/images', bytes, { 'x-svc-public': 'true', 'x-svc-aliases': 'alias=four/x' });
    const { environment } = await daemon.get('/1.0');
    const server = `https://${daemon.daemon.httpsAddress()}`;
    const from = { type: 'image', mode: 'pull', server, protocol: 'lxd', certificate: environment.certificate };
    const answer = await lxd!.call('POST', '/1.0/images', { source: { ...from, alias: 'four/x' }, auto_update: true });
    const ended = await lxd!.get(`${answer.body.operation}/wait`);
    expect([ended.err, ended.metadata.fingerprint]).toEqual(['', sha256(bytes)]);
  });

  test('works with gantry image like a daemon of ours', async () => {
    const gantry = async (...words: string[]): Promise<string> => {
      const ran = await cli(['image', ...words], { env: { GANTRY_HOST: `unix://${lxd!.socketPath}` } });
      expect(ran.code, ran.stderr).toBe(0);
      return ran.stdout.trim();
    };
    const bytes = tarOf({ ...metadataFile, content: `${goodMetadata}properties: {n: five}\n` }, rootfsDirectory);
    const [file, back, cert] = ['five.tar', 'back.tar', 'cert.pem'].map((name) => join(folder, name));
    writeFileSync(file!, bytes);
    expect(await gantry('import', file!, '--alias', 'five')).toBe(sha256(bytes));
    expect(await gantry('list', 'five')).toContain(sha256(bytes).slice(0, 12));
    await gantry('alias', 'six', 'five');
    await gantry('export', 'six', back!);
    expect(sha256(readFileSync(back!))).toBe(sha256(bytes));
    await gantry('delete', 'six');
    await daemon.ok('POST', '/1.0/images', bytes, { 'x-svc-public': '1', 'x-svc-aliases': 'alias=five' });
    writeFileSync(cert!, (await daemon.get('/1.0')).environment.certificate as string);
    const from = ['--from', `https://${daemon.daemon.httpsAddress()}`, '--from-cert', cert!];
    expect(await gantry('copy', 'five', ...from, '--alias', 'five')).toBe(sha256(bytes));
    expect((await lxd!.get('/1.0/images/aliases/five')).target).toBe(sha256(bytes));
  });

  test('accepts a published image', async () => {
    const bytes = tarOf({ ...metadataFile, content: `${goodMetadata}properties: {n: three}\n` }, rootfsDirectory, {
      name: 'rootfs/a',
      content: 'x',
    });
    await daemon.ok('POST', '/1.0/images', bytes);
    await createContainer(daemon, 'three', { source: { type: 'image', fingerprint: sha256(bytes) } });
    const published = await daemon.ok('POST', '/1.0/images', {
      source: { type: 'container', name: 'three' },
      properties: { n: '3' },
    });
    const fingerprint = String(published.metadata?.['fingerprint']);
    const exported = await daemon.call('GET', `/1.0/images/${fingerprint}/export`);
    await onLxd(exported.bytes, {});
    expect((await lxd!.get(`/1.0/images/${fingerprint}`)).properties).toEqual({ n: '3' });
    await lxd!.call('POST', '/1.0/storage-pools', { name: 'p', driver: 'dir' });
    const devices = { root: { type: 'disk', path: '/', pool: 'p' } };
    const made = await lxd!.call('POST', '/1.0/containers', {
      name: 'gti',
      profiles: [],
      devices,
      source: { type: 'image', fingerprint },
    });
    const ended = await lxd!.get(`${made.body.operation}/wait`);
    expect([ended.status, ended.err]).toEqual(['Success', '']);
    const file = await lxd!.call('GET', '/1.0/containers/gti/files?path=/a');
    expect(file.bytes.toString()).toBe('x');
  });
});
