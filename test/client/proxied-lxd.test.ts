// A real LXD that only a proxy reaches: commands, files, consoles and copies through HTTPS_PROXY, with client certificate and pin.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createClient } from '../../server/client/client.ts';
import { cli, type CliRun } from '../support/cli/io.ts';
import { startConnectProxy, type ConnectProxy } from '../support/daemons/connect-proxy.ts';
import { makeClient } from '../support/daemons/tls.ts';
import { freePort } from '../support/hosts/free-port.ts';
import { startStockLxd, stockLxdMissing, type StockLxd } from '../support/hosts/stock-lxd.ts';
import { buildBusyboxImage } from '../support/images/busybox.ts';
import { busyboxMissing } from '../support/images/busybox-rootfs.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';

const missing = stockLxdMissing() ?? busyboxMissing();
if (missing !== undefined) console.log(`skipped: a real LXD behind a proxy, since ${missing}`);

describe.skipIf(missing !== undefined)('a real LXD behind a proxy', () => {
  let lxd: StockLxd | undefined;
  let proxy: ConnectProxy;
  let folder = '';
  let port = 0;
  let tls = { certificate: '', key: '', serverCertificate: '' };
  let flags: readonly string[] = [];

  beforeAll(async () => {
    folder = tempFolder('gantry-proxied-');
    lxd = await startStockLxd();
    port = await freePort();
    await lxd.ok('PUT', '/1.0', { config: { 'core.https_address': `127.0.0.1:${port}` } });
    const own = await makeClient('far');
    const certificate = own.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    await lxd.ok('POST', '/1.0/certificates', { type: 'client', name: 'far', certificate });
    const { environment } = (await lxd.get('/1.0')) as { environment: { certificate_fingerprint: string } };
    tls = { certificate: own.certPem, key: own.keyPem, serverCertificate: environment.certificate_fingerprint };
    const file = (name: string, content: string): string => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const identity = ['--client-cert', file('own.crt', own.certPem), '--client-key', file('own.key', own.keyPem)];
    flags = [...identity, '--server-cert', tls.serverCertificate, '--host', `https://lxd.test:${port}`];

    const local = createClient(`unix://${lxd.socketPath}`);
    const { metadataPath, fingerprint } = await buildBusyboxImage(join(folder, 'busybox'), {
      busybox: { dhcp: false },
    });
    await local.operations.run(() => local.uploadImage({ files: { file: metadataPath }, fingerprint }));
    await local.create('storage_pool', { name: 'far', driver: 'dir', config: {} });
    const devices = { root: { type: 'disk', path: '/', pool: 'far' } };
    const body = { name: 'c1', profiles: [], devices, source: { type: 'image' as const, fingerprint } };
    await local.operations.run(() => local.create('container', body));
    await local.operations.run(() => local.putContainerState('c1', { action: 'start', timeout: 30 }));
    await local.close();
    proxy = await startConnectProxy();
    vi.stubEnv('HTTPS_PROXY', proxy.address);
  }, 120_000);
  afterAll(async () => {
    vi.unstubAllEnvs();
    await proxy?.close();
    await lxd?.cleanUp();
  });

  const gantry = (...words: string[]): Promise<CliRun> => cli([...flags, ...words]);
  const done = { code: 0, stderr: '' };

  test('commands run, and files go in and out', async () => {
    // LXD loses the output of a program that ends at once, one time in five on a busy machine.
    const ran = await gantry('exec', 'c1', '--', 'sh', '-c', 'echo through; sleep 0.5; exit 9');
    expect(ran).toEqual({ code: 9, stdout: 'through\n', stderr: '' });
    const content = 'x'.repeat(3_000_000);
    writeFileSync(join(folder, 'there'), content);
    expect(await gantry('file', 'push', join(folder, 'there'), 'c1/root/there')).toMatchObject(done);
    expect(await gantry('file', 'pull', 'c1/root/there', join(folder, 'back'))).toMatchObject(done);
    expect(readFileSync(join(folder, 'back'), 'utf8')).toBe(content);
    expect(new Set(proxy.targets)).toEqual(new Set([`lxd.test:${port}`]));
  });

  test('a console shows what the container writes, until it is closed', async () => {
    const client = createClient(`https://lxd.test:${port}`, { tls });
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    let shown = '';
    stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
    const session = await client.console('c1', { stdin, stdout });
    expect(await gantry('exec', 'c1', '--', 'sh', '-c', 'echo to the console >/dev/console')).toMatchObject({
      code: 0,
    });
    await until(() => shown.includes('to the console'));
    session.close();
    await session.ended;
    await client.close();
  });

  test('a container is copied to a server behind the proxy, relayed by the program', async () => {
    const pin = ['--target-server-cert', tls.serverCertificate];
    const target = ['--target-host', `https://other.test:${port}`, ...pin, '--mode', 'relay', '--storage', 'far'];
    await until(async () => (await gantry('stop', 'c1', '--force')).code === 0);
    const copied = await gantry('copy', 'c1', 'c2', ...target);
    expect(copied, copied.stderr).toMatchObject({ code: 0 });
    expect(proxy.targets).toContain(`other.test:${port}`);
    expect(await gantry('file', 'pull', 'c2/root/there', join(folder, 'copied'))).toMatchObject(done);
    expect(readFileSync(join(folder, 'copied'), 'utf8')).toBe(readFileSync(join(folder, 'there'), 'utf8'));
  });
});
