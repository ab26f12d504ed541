// The client goes through the proxy of HTTPS_PROXY: requests, events and commands, with client certificates and pins inside the tunnel.
import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createClient, type Client } from '../../server/client/client.ts';
import { neverSent } from '../../server/client/client-error.ts';
import { linkWatch } from '../../server/client/transport/link-watch.ts';
import { proxiesIn } from '../../server/lib/shared/net/proxy-for.ts';
import { cli } from '../support/cli/io.ts';
import { buildPrograms, runProcess, type Ran } from '../support/cli/programs.ts';
import { startConnectProxy, type ConnectProxy, type ConnectProxyOptions } from '../support/daemons/connect-proxy.ts';
import { makeDaemon, seed } from '../support/daemons/daemon.ts';
import { makeClient, makePair } from '../support/daemons/tls.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function startProxy(options: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const started = await startConnectProxy(options);
  cleanups.push(() => started.close());
  return started;
}

/** A daemon whose name only the proxy resolves, with a running container, and what its clients need. */
async function farDaemon() {
  const daemon = await makeDaemon({ https: '127.0.0.1:0' });
  cleanups.push(() => daemon.cleanUp());
  const own = await makeClient('far');
  const certificate = own.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  await daemon.call('POST', '/1.0/certificates', { type: 'client', name: 'far', certificate });
  await seed(daemon);
  await daemon.ok('POST', '/1.0/containers', { name: 'c1', source: { type: 'none' } });
  await daemon.ok('PUT', '/1.0/containers/c1/state', { action: 'start' });
  const { metadata } = await daemon.call('GET', '/1.0');
  const serverCertificate = metadata.environment.certificate_fingerprint as string;
  const target = `daemon.test:${/:(\d+)$/.exec(daemon.daemon.httpsAddress() ?? '')?.[1]}`;
  return { own, target, tls: { certificate: own.certPem, key: own.keyPem, serverCertificate } };
}

function clientOf(target: string, tls = {}): Client {
  const client = createClient(`https://${target}`, { tls });
  cleanups.push(() => client.close());
  return client;
}

describe('a client behind a proxy', () => {
  test('requests, events and commands reach the daemon with the client certificate and the pin', async () => {
    const { target, tls } = await farDaemon();
    const { address, targets, credentials } = await startProxy();
    vi.stubEnv('HTTPS_PROXY', `http://ops:se%3Acret@${address}`);
    const client = clientOf(target, tls);
    await client.operations.run(() => client.putContainerState('c1', { action: 'restart', force: true }));
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const session = await client.exec('c1', { command: ['echo', 'through'], stdout, stderr });
    expect(await session.exited).toBe(0);
    stdout.end();
    expect(await text(stdout)).toBe('through\n');
    expect(new Set(targets)).toEqual(new Set([target]));
    // Requests, events, three channels of the command.
    expect(targets.length).toBeGreaterThanOrEqual(5);
    expect(new Set(credentials)).toEqual(new Set([`Basic ${Buffer.from('ops:se:cret').toString('base64')}`]));
  });

  test('the program goes through a proxy that speaks TLS itself', async () => {
    const { own, target, tls } = await farDaemon();
    const pair = await makePair('localhost', { usage: 'server', subjectAltNames: ['localhost'] });
    const { address, targets } = await startProxy({ tls: pair });
    const folder = tempFolder('gantry-proxy-');
    const file = (name: string, content: string): string => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const flags = ['--client-cert', file('own.crt', own.certPem), '--client-key', file('own.key', own.keyPem)];
    const command = [...flags, '--server-cert', tls.serverCertificate, 'exec', 'c1', 'echo', 'through'];
    const { gantry } = buildPrograms();
    const run = (env: Record<string, string>): Promise<Ran> =>
      runProcess([process.execPath, gantry, '--host', `https://${target}`, ...command], {
        env: { HOME: folder, https_proxy: `https://localhost:${address.split(':')[1]}`, ...env },
      });
    expect(await run({ NODE_EXTRA_CA_CERTS: file('ca.pem', pair.certPem) })).toMatchObject({
      code: 0,
      stdout: 'through\n',
      stderr: '',
    });
    expect(targets.length).toBeGreaterThanOrEqual(5);
    const refused = await run({});
    expect(refused.code).toBe(7);
    expect(refused.stderr).toMatch(/the proxy https:\/\/localhost:\d+ \(HTTPS_PROXY\) .*self-signed certificate/);
  });

  test('a wrong pin is refused through the proxy, too', async () => {
    const { target, tls } = await farDaemon();
    const { address } = await startProxy();
    vi.stubEnv('HTTPS_PROXY', address);
    const client = clientOf(target, { ...tls, serverCertificate: '0'.repeat(64) });
    await expect(client.server()).rejects.toMatchObject({ code: 'untrusted' });
  });

  test('hosts of NO_PROXY are reached directly', async () => {
    const { address, targets } = await startProxy();
    vi.stubEnv('HTTPS_PROXY', address);
    vi.stubEnv('NO_PROXY', 'other.test,.invalid');
    await expect(clientOf('daemon.invalid:1').server()).rejects.toThrow('the name daemon.invalid cannot be resolved');
    expect(targets).toEqual([]);
  });

  test('a link counts as alive as long as the proxy makes tunnels', async () => {
    let answer: string | undefined;
    const far = await startProxy();
    const { address, targets } = await startProxy({ answer: () => answer });
    const target = { host: 'daemon.test', port: Number(far.address.split(':')[1]) };
    const watch = linkWatch(target, new URL(`http://${address}`), { silentMs: 40, probeMs: 1000 });
    const socket = new Socket();
    let why: Error | undefined;
    socket.on('error', (error) => (why = error));
    watch.add(socket);
    const end = watch.begin();
    await until(() => targets.length >= 3);
    expect(socket.destroyed).toBe(false);
    answer = '504 Gateway Timeout';
    await until(() => why !== undefined);
    end();
    expect(why?.message).toContain('the connection is dead');
  });
});

describe('a proxy that makes no tunnel', () => {
  const failure = async (target = 'daemon.test:8443'): Promise<Error> => {
    const error: unknown = await clientOf(target)
      .server()
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'unreachable' });
    return error as Error;
  };

  test.each([
    ['407 Who are you', '', 'it wants a user name and password: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT'],
    ['407 Who are you', 'ops:secret@', 'it does not accept the user name and password in HTTPS_PROXY'],
    ['502 Bad Gateway', 'ops:secret@', 'it answers 502 Bad Gateway'],
    ['403', '', 'it answers 403'],
    ['hang up', '', 'it closed the connection'],
  ])('the answer %j is explained, with the names of proxy and server (%j)', async (answer, credentials, why) => {
    const { address, targets } = await startProxy({ answer: () => answer });
    vi.stubEnv('HTTPS_PROXY', `http://${credentials}${address}`);
    const error = await failure();
    expect(error.message).toBe(
      `GET /1.0: cannot reach https://daemon.test:8443: the proxy http://${address} (HTTPS_PROXY) does not connect to it: ${why}; NO_PROXY=daemon.test goes without the proxy`,
    );
    expect(neverSent(error.cause)).toBe(true);
    expect(targets).toHaveLength(1);
  });

  test('a proxy that is not there is named', async () => {
    const gone = await startConnectProxy();
    await gone.close();
    const { address } = gone;
    vi.stubEnv('HTTPS_PROXY', address);
    expect((await failure()).message).toContain(`the proxy http://${address} (HTTPS_PROXY) does not connect to it: connection refused`); // prettier-ignore
  });

  test('a closed client gives up on a proxy that never answers', async () => {
    const { address, targets } = await startProxy({ answer: () => 'silent' });
    vi.stubEnv('HTTPS_PROXY', address);
    const client = clientOf('daemon.test:8443');
    const failed = client.server().catch((reason: unknown) => reason);
    await until(() => targets.length === 1);
    await client.close();
    expect(await failed).toBeInstanceOf(Error);
  });

  test('a proxy of another protocol is refused before any connection, without its password', () => {
    vi.stubEnv('HTTPS_PROXY', 'socks5://ops:secret@proxy:1080');
    expect(() => createClient('https://daemon.test')).toThrow(
      'HTTPS_PROXY "socks5://proxy:1080" is not understood: write http://HOST:PORT or https://HOST:PORT, or add daemon.test to NO_PROXY',
    );
    expect(() => createClient('https://127.0.0.1')).not.toThrow();
  });
});

test('the API of a controller is asked through the proxy, which errors name', async () => {
  const { address, targets } = await startProxy({ answer: () => '502 Bad Gateway' });
  const ask = (env: Record<string, string>) =>
    cli(['controller', 'status', '--url', 'https://controller.test'], { env: { HTTPS_PROXY: address, ...env } });
  const { code, stderr } = await ask({});
  expect({ code, targets }).toEqual({ code: 7, targets: ['controller.test:443'] });
  expect(stderr).toContain(`https://controller.test cannot be reached through the proxy http://${address}: `);
  expect((await ask({ NO_PROXY: 'controller.test' })).stderr).not.toContain('through the proxy');
  expect((await ask({ HTTPS_PROXY: 'socks5://proxy' })).stderr).toContain(
    'HTTPS_PROXY "socks5://proxy" is not understood',
  );
});

test('capitals go before small letters, empty variables count as absent, and a proxy needs no scheme', () => {
  expect(proxiesIn({ HTTPS_PROXY: '', https_proxy: 'proxy:3128', NO_PROXY: 'a', no_proxy: 'b' })).toEqual({
    http: '',
    https: 'http://proxy:3128',
    ignoreHosts: 'a',
  });
});
