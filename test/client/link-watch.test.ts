// A link that dies during a call is noticed long before the kernel notices, and a slow server is never taken for a dead link.
import { spawn } from 'node:child_process';
import { createServer, connect as connectNet, type Server, type Socket, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { connect } from '../../server/client/client.ts';
import { ClientError } from '../../server/client/client-error.ts';
import { LinkWatch, linkWatch } from '../../server/client/transport/link-watch.ts';
import { exec } from '../../server/lib/exec.ts';
import { makeDaemon, realRuntimeMissing, seed, type TestDaemon } from '../support/daemons/daemon.ts';
import { makeClient } from '../support/daemons/tls.ts';
import { buildPrograms, plainEnv } from '../support/cli/programs.ts';
import { isLongRun } from '../support/left-out.ts';
import { until } from '../support/until.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** A daemon with TLS behind a link that can be cut: connections stay open, and no data passes any more. */
async function behindCable(): Promise<{
  readonly daemon: TestDaemon;
  readonly host: string;
  readonly cut: () => void;
}> {
  const daemon = await makeDaemon({ https: '127.0.0.1:0' });
  const [, port = ''] = /:(\d+)$/.exec(daemon.daemon.httpsAddress() ?? '') ?? [];
  const pairs: (readonly [Socket, Socket])[] = [];
  let isCut = false;
  const cable: Server = createServer((near) => {
    const far = connectNet(Number(port), '127.0.0.1');
    pairs.push([near, far]);
    for (const socket of [near, far]) socket.on('error', () => {});
    if (isCut) return;
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise<void>((resolve) => cable.listen(0, '127.0.0.1', resolve));
  cleanups.push(
    () => daemon.cleanUp(),
    () => {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      cable.close();
    },
  );
  const cut = (): void => {
    isCut = true;
    for (const [near, far] of pairs) {
      near.unpipe();
      far.unpipe();
    }
  };
  return { daemon, host: `https://127.0.0.1:${(cable.address() as AddressInfo).port}`, cut };
}

async function trusted(daemon: TestDaemon, host: string, link: LinkWatch): ReturnType<typeof connect> {
  const own = await makeClient('link');
  const der = own.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  expect(
    (await daemon.call('POST', '/1.0/certificates', { type: 'client', name: 'link', certificate: der })).status,
  ).toBe(200);
  const { metadata } = await daemon.call('GET', '/1.0');
  const serverCertificate = metadata.environment.certificate_fingerprint as string;
  const client = await connect(host, { tls: { certificate: own.certPem, key: own.keyPem, serverCertificate }, link });
  cleanups.push(() => client.close());
  return client;
}

/** The id of a running operation: a command that waits for its websocket. */
async function sleeping(daemon: TestDaemon): Promise<string> {
  await seed(daemon);
  await daemon.ok('POST', '/1.0/containers', { name: 'c1', source: { type: 'none' } });
  await daemon.ok('PUT', '/1.0/containers/c1/state', { action: 'start' });
  const body = { command: ['sleep', '9'], 'wait-for-websocket': true };
  const { body: answer } = await daemon.call('POST', '/1.0/containers/c1/exec', body);
  return (answer.operation as string).split('/').at(-1) ?? '';
}

describe('a link', () => {
  test('a link that is dead fails the waiting calls at once, without a retry', async () => {
    const { daemon, host, cut } = await behindCable();
    let failed: number | undefined;
    const probe = (): Promise<boolean> => {
      if (failed !== undefined) failed += 1;
      return Promise.resolve(failed === undefined);
    };
    const client = await trusted(daemon, host, new LinkWatch({ limits: { silentMs: 200, probeMs: 100 }, probe }));
    await client.list('profile');
    cut();
    failed = 0;
    const error: unknown = await client.list('profile').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ClientError);
    expect((error as ClientError).code).toBe('unreachable');
    expect((error as ClientError).message).toContain('the connection is dead: no data arrived for');
    expect(failed).toBe(2);
  });

  test('to a slow server is alive as long as its host accepts connections', async () => {
    const { daemon, host } = await behindCable();
    let probes = 0;
    const probe = (): Promise<boolean> => {
      probes += 1;
      return Promise.resolve(probes % 2 === 0);
    };
    const client = await trusted(daemon, host, new LinkWatch({ limits: { silentMs: 100, probeMs: 100 }, probe }));
    // The server answers after a second.
    const waiting = client.http.send({
      method: 'GET',
      path: `/1.0/operations/${await sleeping(daemon)}/wait`,
      query: { timeout: 1 },
    });
    expect((await waiting).metadata).toMatchObject({ status: 'Running' });
    const events = client.events(['lifecycle'], AbortSignal.timeout(800));
    for await (const _event of events) expect.fail('nothing happens');
    expect((await client.list('profile')).length).toBeGreaterThan(0);
  });

  test('is watched only during calls', async () => {
    let probes = 0;
    const probe = (): Promise<boolean> => Promise.resolve((probes += 1) > 0);
    const link = new LinkWatch({ limits: { silentMs: 20, probeMs: 20 }, probe });
    const ends = [link.begin(), link.begin()];
    await until(() => probes > 1);
    for (const end of [...ends, ...ends]) end();
    const seen = probes;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(probes - seen).toBeLessThanOrEqual(1);
  });
});

const missing = await realRuntimeMissing();
if (missing !== undefined) console.log(`skipped: a link that is cut between network namespaces, since ${missing}`);

interface Namespace {
  readonly name: string;
  readonly subnet: string;
  /** What arrives there is dropped from now on, as if the cable were cut. */
  cut(this: void): Promise<unknown>;
}

let links = 0;
/** Behind a link of its own: this host has .1 of the subnet, the namespace .2. */
async function namespaceBehindLink(): Promise<Namespace> {
  // The kernel removes the link of a namespace some time after that: the next one has other names.
  const id = process.pid * 10 + (links += 1);
  const [name, near, far] = [`gdl${id}`, `gdlh${id}`, `gdlc${id}`];
  const subnet = `10.213.${id % 250}`;
  const ip = (...words: string[]): Promise<unknown> => exec(['ip', ...words]);
  const inside = (...words: string[]): Promise<unknown> => ip('netns', 'exec', name, ...words);
  await ip('netns', 'add', name);
  cleanups.push(() => ip('netns', 'del', name));
  await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', name);
  await ip('addr', 'add', `${subnet}.1/24`, 'dev', near);
  await ip('link', 'set', near, 'up');
  await inside('ip', 'addr', 'add', `${subnet}.2/24`, 'dev', far);
  await inside('ip', 'link', 'set', far, 'up');
  const rules = 'add table inet cut; add chain inet cut in { type filter hook input priority 0; policy drop; }';
  return { name, subnet, cut: () => inside('nft', rules) };
}

test.skipIf(missing !== undefined)('a link that is cut is noticed by new connections', async () => {
  const { name, subnet, cut } = await namespaceBehindLink();
  const daemon = await makeDaemon({ https: `${subnet}.1:0` });
  cleanups.push(() => daemon.cleanUp());
  const [, port = ''] = /:(\d+)$/.exec(daemon.daemon.httpsAddress() ?? '') ?? [];
  // The namespace passes connections on to the daemon.
  const pass = `require('net').createServer((near) => {
    const far = require('net').connect(${port}, '${subnet}.1');
    for (const socket of [near, far]) socket.on('error', () => {});
    near.pipe(far).pipe(near);
  }).listen(8443, () => console.log('ready'))`;
  const child = spawn('ip', ['netns', 'exec', name, process.execPath, '-e', pass], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanups.push(() => child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const there = { host: `${subnet}.2`, port: 8443 };
  const link = linkWatch(there, undefined, { silentMs: 400, probeMs: 400 });
  const client = await trusted(daemon, `https://${there.host}:${there.port}`, link);
  await client.list('profile');
  await cut();
  const error: unknown = await client.list('profile').catch((reason: unknown) => reason);
  expect((error as ClientError).message).toContain('the connection is dead: no data arrived for');
});

// The same with the limits that users have takes half a minute.
test.skipIf(missing !== undefined || !isLongRun)('a command over a cut link fails in well under a minute', async () => {
  const programs = buildPrograms();
  const { name: space, subnet, cut } = await namespaceBehindLink();
  const daemon = await makeDaemon({ https: `${subnet}.1:0` });
  cleanups.push(() => daemon.cleanUp());
  const address = daemon.daemon.httpsAddress() ?? '';
  const own = await makeClient('link');
  const { certPem, keyPem } = own;
  const der = certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  await daemon.call('POST', '/1.0/certificates', { type: 'client', name: 'link', certificate: der });
  const { writeFileSync } = await import('node:fs');
  writeFileSync(`${daemon.dir}/c.crt`, certPem);
  writeFileSync(`${daemon.dir}/c.key`, keyPem);
  const fingerprint = (await daemon.call('GET', '/1.0')).metadata.environment.certificate_fingerprint as string;
  const flags = [
    '--host',
    `https://${address}`,
    '--client-cert',
    `${daemon.dir}/c.crt`,
    '--client-key',
    `${daemon.dir}/c.key`,
    '--server-cert',
    fingerprint,
  ];
  // Runs as long as possible: the command reads on.
  const words = ['netns', 'exec', space, process.execPath, programs.gantry, 'exec', 'c1', ...flags, '--', 'cat'];
  await seed(daemon);
  await daemon.ok('POST', '/1.0/containers', { name: 'c1', source: { type: 'none' } });
  await daemon.ok('PUT', '/1.0/containers/c1/state', { action: 'start' });
  const child = spawn('ip', words, { env: plainEnv(), stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let echoed = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (echoed += chunk));
  child.stdin.on('error', () => {}).write('hello\n');
  await until(() => echoed === 'hello\n');
  await cut();
  const cutAt = performance.now();
  expect(await ended).not.toBe(0);
  const seconds = (performance.now() - cutAt) / 1000;
  console.log(`noticed after ${seconds.toFixed(1)} s: ${said.trim()}`);
  expect(seconds).toBeLessThan(55);
});
