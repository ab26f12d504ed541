// The client against a small server that speaks both dialects: envelopes, errors, ETags, images, TLS, unreachable hosts.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { connect, createClient, dialectOf, type Client, type ClientOptions } from '../../server/client/client.ts';
import {
  ClientError,
  hasUnknownOutcome,
  isOverloaded,
  isRefused,
  remedyFor,
} from '../../server/client/client-error.ts';
import { parseEndpoint } from '../../server/client/transport/host-endpoint.ts';
import { TooLongError } from '../../server/client/transport/exchange.ts';
import { Transport } from '../../server/client/transport/transport.ts';
import { until } from '../support/until.ts';
import { startFakeDaemon, type FakeDaemon, type FakeDaemonOptions } from '../support/fakes/http-daemon.ts';
import { tempFolder } from '../support/temp-folder.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function setUp(options: FakeDaemonOptions = {}, clientOptions: ClientOptions = {}) {
  const daemon = await startFakeDaemon(options);
  cleanups.push(() => daemon.stop());
  return { daemon, client: clientOf(daemon, clientOptions) };
}

function clientOf(daemon: FakeDaemon, options: ClientOptions = {}): Client {
  const client = createClient(daemon.host, options);
  cleanups.push(() => client.close());
  return client;
}

async function folder(): Promise<string> {
  const path = tempFolder('gantry-client-');
  cleanups.push(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function failure(promise: Promise<unknown>): Promise<ClientError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ClientError);
  return error as ClientError;
}

test('A closed transport leaves no connection to a server that never completes the handshake', async () => {
  let open = 0;
  let isAccepted = false;
  const silent = createServer((socket) => {
    isAccepted = true;
    open += 1;
    socket
      .resume()
      .on('error', () => {})
      .once('close', () => (open -= 1));
  }).listen(0, '127.0.0.1');
  cleanups.push(async () => void silent.close());
  await once(silent, 'listening');
  const endpoint = { kind: 'https', host: '127.0.0.1', port: (silent.address() as AddressInfo).port } as const;
  const transport = new Transport(endpoint, { connectTimeoutMs: 3_600_000 });
  const call = transport.request({ method: 'GET', path: '/1.0', headers: {} }, new AbortController().signal);
  const failed = call.catch((error: unknown) => error);
  await until(() => isAccepted);
  await transport.close();
  expect(await failed).toBeInstanceOf(Error);
  await until(() => open === 0);
});

test('A host is accepted in each of its forms', () => {
  expect(parseEndpoint('unix:///a/b')).toEqual({ kind: 'unix', path: '/a/b' });
  expect(parseEndpoint('/a/b')).toEqual({ kind: 'unix', path: '/a/b' });
  expect(parseEndpoint('https://h')).toEqual({ kind: 'https', host: 'h', port: 8443 });
  expect(parseEndpoint('https://h:443/')).toEqual({ kind: 'https', host: 'h', port: 443 });
  expect(parseEndpoint('https://[::1]:99')).toEqual({ kind: 'https', host: '::1', port: 99 });
  for (const bad of ['', 'http://h', 'host', 'https://u:p@h', 'https://h/path', 'unix://a/b']) {
    expect(() => parseEndpoint(bad), bad).toThrow(/not understood/);
  }
  expect(() => parseEndpoint(`unix:///${'a'.repeat(107)}`)).toThrow('may have 107 bytes');
});

describe.each(['svc', 'lxd'] as const)('in the %s dialect', (dialect) => {
  test('objects and ETags are returned, and If-Match is sent back unchanged', async () => {
    const { client, daemon } = await setUp({
      dialect,
      routes: {
        'GET /1.0/profiles/web%2F1': () => ({ sync: { name: 'web/1', config: {} }, headers: { etag: '"abc"' } }),
        'PUT /1.0/profiles/web%2F1': () => ({ sync: {} }),
        'GET /1.0/profiles': (request) => ({
          sync: request.query.get('recursion') === '1' ? [{ name: 'default' }] : [],
        }),
      },
    });
    expect(dialectOf((await client.server()).metadata)).toBe(dialect);
    const read = await client.get('profile', 'web/1');
    expect(read).toMatchObject({ metadata: { name: 'web/1' }, etag: '"abc"' });
    await client.put('profile', 'web/1', { config: { a: 'b' } }, { ifMatch: '"abc"' });
    expect(daemon.requests.at(-1)?.headers['if-match']).toBe('"abc"');
    expect(JSON.parse(String(daemon.requests.at(-1)?.body))).toEqual({ config: { a: 'b' } });
    expect(await client.list('profile')).toEqual([{ name: 'default' }]);
  });

  test('a container that its server lists without values has empty ones', async () => {
    const unread = { name: 'away', status: 'Error', status_code: 112, architecture: '', location: 'm2' };
    const listed = { ...unread, config: null, devices: null, profiles: null };
    const { client } = await setUp({ dialect, routes: { 'GET /1.0/containers': () => ({ sync: [listed] }) } });
    const empty = { config: {}, devices: {}, profiles: [], expanded_config: {}, expanded_devices: {} };
    expect(await client.list('container')).toEqual([{ ...unread, ...empty }]);
  });

  test('an error has the status, code and message of the server', async () => {
    const { client } = await setUp({
      dialect,
      routes: {
        'GET /1.0/containers/c1': () => ({ error: 404, code: 'notFound', message: 'The container c1 was not found' }),
        'PUT /1.0/containers/c1': () => ({ error: 412, code: 'preconditionFailed', message: 'changed' }),
      },
    });
    const error = await failure(client.get('container', 'c1'));
    expect(error).toMatchObject({ status: 404, code: 'notFound' });
    expect(error.message).toBe('GET /1.0/containers/c1: The container c1 was not found');
    expect(error.details).toEqual(dialect === 'svc' ? [{ path: 'name', message: 'bad' }] : []);
    const conflict = await failure(client.put('container', 'c1', {}));
    expect(remedyFor(conflict, false)).toBe('reread');
  });

  test('the list of operations is parsed in the shape of the dialect', async () => {
    const { client, daemon } = await setUp({ dialect });
    const operation = daemon.newOperation();
    expect(await client.operations.list()).toEqual([operation.id]);
  });
});

test('a rename answered by 204 and a Location is a reply without metadata', async () => {
  const { client } = await setUp({
    routes: { 'POST /1.0/profiles/a': () => ({ raw: '', status: 204, headers: { location: '/1.0/profiles/b' } }) },
  });
  expect(await client.rename('profile', 'a', 'b')).toEqual({
    status: 204,
    metadata: null,
    location: '/1.0/profiles/b',
  });
});

test('an answer without an envelope is a bad reply, and the message quotes its beginning', async () => {
  const { client } = await setUp({
    routes: { 'GET /1.0/profiles/a': () => ({ raw: '<html>proxy</html>', status: 502 }) },
  });
  const error = await failure(client.get('profile', 'a'));
  expect(error.code).toBe('badReply');
  expect(error.message).toContain('<html>proxy');
});

test('a read is retried when the connection breaks; a write is not', async () => {
  let reads = 0;
  const { client, daemon } = await setUp({
    routes: {
      'GET /1.0/profiles/a': () => {
        reads += 1;
        return reads < 3 ? { hangUp: true } : { sync: { name: 'a' } };
      },
      'PUT /1.0/profiles/a': () => ({ hangUp: true }),
    },
  });
  expect((await client.get('profile', 'a')).metadata.name).toBe('a');
  const error = await failure(client.put('profile', 'a', {}));
  expect(error.code).toBe('unreachable');
  expect(remedyFor(error, false)).toBe('reread');
  expect(daemon.requests.filter(({ method }) => method === 'PUT')).toHaveLength(1);
});

test('503 is retried also for writes, and 400 is never retried', async () => {
  let puts = 0;
  const { client, daemon } = await setUp({
    routes: {
      'PUT /1.0/profiles/a': () => {
        puts += 1;
        return puts === 1 ? { error: 503, message: 'starting', code: 'unavailable' } : { sync: {} };
      },
      'GET /1.0/profiles/b': () => ({ error: 400, message: 'no' }),
    },
  });
  await client.put('profile', 'a', {});
  expect(puts).toBe(2);
  await failure(client.get('profile', 'b'));
  expect(daemon.requests.filter(({ path }) => path.endsWith('/b'))).toHaveLength(1);
});

test('a change whose outcome the server does not know is sent once, and its caller is to read the object; a read is sent again', async () => {
  const unknown = { error: 500, message: 'etcd did not answer', code: 'outcomeUnknown' };
  let reads = 0;
  const { client, daemon } = await setUp({
    routes: {
      'POST /1.0/profiles': () => unknown,
      'GET /1.0/profiles/a': () => {
        reads += 1;
        return reads === 1 ? unknown : { sync: { name: 'a' } };
      },
    },
  });
  const error = await failure(client.create('profile', { name: 'a' }));
  expect([error.code, remedyFor(error, false), hasUnknownOutcome(error)]).toEqual(['outcomeUnknown', 'reread', true]);
  expect(daemon.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  expect((await client.get('profile', 'a')).metadata.name).toBe('a');
});

test('a call ends at its time limit, and on abort with the reason of its signal', async () => {
  const { client } = await setUp({ routes: { 'POST /1.0/profiles': () => ({ never: true }) } }, { timeoutMs: 60 });
  const error = await failure(client.create('profile', { name: 'a' }));
  expect(error).toMatchObject({ code: 'timeout', status: 0 });
  const controller = new AbortController();
  const pending = client.create('profile', { name: 'a' }, {}, controller.signal);
  controller.abort(new Error('user'));
  await expect(pending).rejects.toThrow('user');
});

test('a change of a pool or volume waits for its tools as long as its signal allows, where others end after 30 s', async () => {
  const routes = Object.fromEntries(
    ['profiles', 'storage-pools', 'storage-pools/fast/volumes/custom'].map((path) => [
      `POST /1.0/${path}`,
      () => ({ never: true }) as const,
    ]),
  );
  const { client, daemon } = await setUp({ routes });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  cleanups.push(async () => void vi.useRealTimers());
  const stop = new AbortController();
  const ends: string[] = [];
  const noted = async (name: string, call: Promise<unknown>): Promise<void> =>
    void ends.push(`${name}: ${(await failure(call)).message}`);
  const calls = [
    noted('profile', client.create('profile', { name: 'a' }, {}, stop.signal)),
    noted('pool', client.create('storage_pool', { name: 'fast', driver: 'ceph' }, {}, stop.signal)),
    noted('volume', client.create('storage_volume', { pool: 'fast', name: 'v' }, {}, stop.signal)),
  ];
  while (daemon.requests.length < 3) await new Promise(setImmediate);
  await vi.advanceTimersByTimeAsync(600_000);
  await calls[0];
  expect(ends).toEqual(['profile: POST /1.0/profiles: no answer in 30000 ms']);
  stop.abort(new ClientError('timeout', 'told to stop'));
  await Promise.all(calls);
  expect(ends.slice(1).toSorted()).toEqual(['pool: told to stop', 'volume: told to stop']);
});

test('a call over a silent link ends after the limit without a byte, and is not repeated; a slow answer is read whole', async () => {
  const slow = JSON.stringify({ type: 'sync', metadata: 'x'.repeat(50) });
  const { daemon, client } = await setUp(
    {
      routes: {
        'GET /1.0/mute': () => ({ never: true }),
        'GET /1.0/late': () => new Promise((resolve) => setTimeout(() => resolve({ raw: slow }), 400)),
      },
    },
    { silentMs: 200 },
  );
  const error = await failure(client.http.send({ method: 'GET', path: '/1.0/mute', timeoutMs: 600_000 }));
  expect(error).toMatchObject({ code: 'timeout', message: 'GET /1.0/mute: the server sent nothing for 200 ms' });
  expect(daemon.requests).toHaveLength(1);
  await failure(client.http.open({ method: 'GET', path: '/1.0/mute' }));
  const late = { method: 'GET', path: '/1.0/late' } as const;
  expect(await failure(client.http.send(late))).toMatchObject({ code: 'timeout' });
  expect((await client.http.send<string>({ ...late, silentMs: 5000 })).metadata).toBe('x'.repeat(50));
});

test('a refusal of a database that had no room for a transaction is tried again; a failed operation is not, here', async () => {
  let posts = 0;
  const busy = 'Failed to begin transaction: context deadline exceeded';
  const { client } = await setUp({
    routes: {
      'POST /1.0/profiles': () => ((posts += 1) < 3 ? { error: 500, message: busy } : { sync: {} }),
      'GET /1.0/profiles/b': () => ({ error: 500, message: 'context deadline exceeded' }),
    },
  });
  await client.create('profile', { name: 'a' });
  expect(posts).toBe(3);
  const ended = new ClientError('operationFailed', busy, { status: 400, operation: {} as never });
  expect([isRefused(ended, 'overloaded'), isOverloaded(ended)]).toEqual([true, false]);
  // This text alone does not say that nothing was done.
  expect(isOverloaded(await failure(client.get('profile', 'b')))).toBe(false);
});

test('a call that is queued for a free connection ends with its signal, and is never sent', async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const routes = { 'GET /1.0/slow': () => held.then(() => ({ sync: 'slow' })) };
  const { daemon, client } = await setUp({ routes }, { connections: 1 });
  const first = client.http.send({ method: 'GET', path: '/1.0/slow' });
  await until(() => daemon.requests.length === 1);
  const controller = new AbortController();
  const queued = client.create('profile', { name: 'a' }, {}, controller.signal);
  controller.abort(new Error('user'));
  await expect(queued).rejects.toThrow('user');
  release();
  expect((await first).metadata).toBe('slow');
  await client.server();
  expect(daemon.requests.map(({ path }) => path)).toEqual(['/1.0/slow', '/1.0']);
});

test('an answer in several chunks is joined before it is decoded as text', async () => {
  const text = JSON.stringify({ type: 'sync', metadata: 'ä'.repeat(100_000) });
  const { client } = await setUp({ routes: { 'GET /1.0/long': () => ({ raw: text }) } });
  const { metadata } = await client.http.send<string>({ method: 'GET', path: '/1.0/long' });
  expect(metadata).toBe('ä'.repeat(100_000));
});

test('an answer above the limit is aborted, and the next call succeeds', async () => {
  const { daemon } = await setUp({ routes: { 'GET /1.0/long': () => ({ raw: 'x'.repeat(500_000) }) } });
  const transport = new Transport(parseEndpoint(daemon.host), { connections: 1 });
  cleanups.push(() => transport.close());
  const ask = (path: string) =>
    transport.exchange({ method: 'GET', path, headers: {} }, { timeoutMs: undefined, maxBytes: 1000 }, undefined);
  await expect(ask('/1.0/long')).rejects.toBeInstanceOf(TooLongError);
  expect((await ask('/1.0')).statusCode).toBe(200);
});

describe('an unreachable socket', () => {
  test('an unreachable socket that does not exist fails with the reason and the remedy', async () => {
    const client = createClient(`unix://${await folder()}/none.socket`);
    cleanups.push(() => client.close());
    const error = await failure(client.server());
    expect(error.code).toBe('unreachable');
    expect(error.message).toMatch(/none\.socket: there is no such file; start the daemon/);
  });

  test('an unreachable socket without a listener fails with a message that the daemon has stopped', async () => {
    const path = join(await folder(), 'stale.socket');
    const server = createServer().listen(path);
    await new Promise((resolve) => server.once('listening', resolve));
    const { link } = await import('node:fs/promises');
    await link(path, `${path}.kept`);
    await new Promise((resolve) => server.close(resolve));
    const client = createClient(`unix://${path}.kept`);
    cleanups.push(() => client.close());
    expect((await failure(client.server())).message).toMatch(
      /no process listens on it \(the socket exists, owner \d+:\d+, mode/,
    );
  });

  test('an unreachable socket that is an ordinary file or a folder fails with a message that says so', async () => {
    const path = join(await folder(), 'file');
    await writeFile(path, '');
    const within = createClient(`unix://${dirname(path)}`);
    cleanups.push(() => within.close());
    expect((await failure(within.server())).message).toMatch(/it is no socket but a folder; name the socket/);
    const client = createClient(`unix://${path}`);
    cleanups.push(() => client.close());
    expect((await failure(client.server())).message).toMatch(/it is no socket but a file; name the socket/);
  });
});

test('connect fails on a server that does not trust the client', async () => {
  const { daemon } = await setUp({ auth: 'untrusted' });
  const error = await failure(connect(daemon.host));
  expect(error.code).toBe('untrusted');
  expect(error.message).toContain('client certificate');
});

test('connect fails on an answer that describes no server, as a proxy may give', async () => {
  const { daemon } = await setUp({ routes: { 'GET /1.0': () => ({ raw: '', status: 200 }) } });
  const error = await failure(connect(daemon.host));
  expect(error.code).toBe('badReply');
  expect(error.message).toMatch(/^GET \/1\.0: .* does not describe a server$/);
});

describe('images', () => {
  test('a tarball is streamed unchanged, with the headers of both dialects', async () => {
    const { client, daemon } = await setUp({
      routes: { 'POST /1.0/images': () => ({ async: daemon.newOperation({ status: 'Success', status_code: 200 }) }) },
    });
    const file = join(await folder(), 'image.tar.xz');
    const bytes = Buffer.alloc(3_000_000, 7);
    await writeFile(file, bytes);
    const progress: number[] = [];
    await client.operations.run(() =>
      client.uploadImage({
        files: { file },
        fingerprint: 'f00',
        public: true,
        properties: { os: 'a b' },
        onProgress: (sent) => progress.push(sent),
      }),
    );
    const upload = daemon.requests.find(({ method }) => method === 'POST');
    expect(upload?.body.equals(bytes)).toBe(true);
    for (const prefix of ['x-svc', 'x-lxd']) {
      expect(upload?.headers[`${prefix}-fingerprint`]).toBe('f00');
      expect(upload?.headers[`${prefix}-filename`]).toBe('image.tar.xz');
      expect(upload?.headers[`${prefix}-public`]).toBe('true');
      expect(upload?.headers[`${prefix}-properties`]).toBe('os=a+b');
    }
    expect(progress.at(-1)).toBe(bytes.length);
  });

  test('metadata and rootfs are sent as two parts in that order, with the right content length', async () => {
    const { client, daemon } = await setUp({
      routes: { 'POST /1.0/images': () => ({ async: daemon.newOperation({ status: 'Success', status_code: 200 }) }) },
    });
    const dir = await folder();
    const files = { metadata: join(dir, 'meta.tar'), rootfs: join(dir, 'root.squashfs') };
    await writeFile(files.metadata, 'META');
    await writeFile(files.rootfs, 'ROOT');
    await client.uploadImage({ files });
    const request = daemon.requests.at(-1);
    const form = await new Response(new Uint8Array(request?.body ?? []), {
      headers: { 'content-type': String(request?.headers['content-type']) },
    }).formData();
    expect([...form.keys()]).toEqual(['metadata', 'rootfs']);
    expect(await (form.get('rootfs') as File).text()).toBe('ROOT');
    expect((form.get('metadata') as File).name).toBe('meta.tar');
    expect(Number(request?.headers['content-length'])).toBe(request?.body.length);
  });

  test('an export is a stream with its name and size; an error answer throws', async () => {
    const { client } = await setUp({
      routes: {
        'GET /1.0/images/abc/export': () => ({
          raw: 'tarball',
          headers: { 'content-type': 'application/octet-stream', 'content-disposition': 'inline;filename="abc.tar"' },
        }),
        'GET /1.0/images/none/export': () => ({ error: 404, message: 'no image', code: 'notFound' }),
      },
    });
    const file = await client.exportImage('abc');
    expect(file.filename).toBe('abc.tar');
    const chunks: Buffer[] = [];
    for await (const chunk of file.body as AsyncIterable<Buffer>) chunks.push(chunk);
    expect(String(Buffer.concat(chunks))).toBe('tarball');
    expect((await failure(client.exportImage('none'))).status).toBe(404);
  });
});

describe.skipIf(!hasOpenssl())('over TLS', () => {
  test('a pinned certificate is accepted for calls and events, and the client certificate is presented', async () => {
    const pair = await certificate();
    const { daemon } = await setUp({ tls: { ...pair, requestClient: true } });
    const client = await connect(daemon.host, { tls: { ...pair, serverCertificate: pair.fingerprint } });
    cleanups.push(() => client.close());
    const operation = daemon.newOperation();
    const waiting = client.operations.wait(operation.id);
    await expect.poll(() => daemon.eventConnections).toBe(1);
    daemon.finish(operation);
    expect((await waiting).status_code).toBe(200);
  });

  test('the PEM of the server is accepted as a pin and as a CA', async () => {
    const pair = await certificate();
    const { daemon } = await setUp({ tls: pair });
    for (const tls of [{ serverCertificate: pair.certificate }, { ca: pair.certificate }]) {
      const client = clientOf(daemon, { tls });
      expect((await client.server()).metadata.auth).toBe('trusted');
    }
  });

  test('another certificate is refused before any data is sent, and so is an unknown one without a pin', async () => {
    const pair = await certificate();
    const { daemon } = await setUp({ tls: pair });
    const wrongPin = clientOf(daemon, { tls: { serverCertificate: '0'.repeat(64) } });
    const wrong = await failure(wrongPin.server());
    expect(wrong.code).toBe('untrusted');
    expect(wrong.message).toContain(pair.fingerprint);
    const unknown = await failure(clientOf(daemon).server());
    expect(unknown.code).toBe('untrusted');
    expect(daemon.requests).toEqual([]);
  });
});

/** A self-signed pair for 127.0.0.1. */
async function certificate(): Promise<{ certificate: string; key: string; fingerprint: string }> {
  const dir = await folder();
  const subject = ['-subj', '/CN=fake', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const out = ['-keyout', join(dir, 'key'), '-out', join(dir, 'crt')];
  execFileSync('openssl', ['req', '-x509', ...curve, '-nodes', '-days', '2', ...subject, ...out], { stdio: 'ignore' });
  const pem = readFileSync(join(dir, 'crt'), 'utf8');
  const fingerprint = createHash('sha256').update(new X509Certificate(pem).raw).digest('hex');
  return { certificate: pem, key: readFileSync(join(dir, 'key'), 'utf8'), fingerprint };
}

function hasOpenssl(): boolean {
  const found = spawnSync('openssl', ['version']).status === 0;
  if (!found) console.log('skipped: TLS tests of the client, since openssl is not installed');
  return found;
}
