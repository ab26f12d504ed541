// The contract as a table over the real daemon: every endpoint of this release is called here, and its answer matches its schema.
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Endpoint, Method } from '../../../server/api/endpoints/endpoint.ts';
import { endpoints, type EndpointId } from '../../../server/api/endpoints/endpoint-table.ts';
import type { HostDrivers } from '../../../server/daemon/host-drivers.ts';
import { validateBody } from '../../../server/api/schema/validate-json.ts';
import {
  type Answer,
  createContainer,
  emptySource,
  type Json,
  makeSeeded,
  type TestDaemon,
} from '../../support/daemons/daemon.ts';
import { goodMetadata, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { until } from '../../support/until.ts';
import { makePair } from '../../support/daemons/tls.ts';

let daemon: TestDaemon;
let fingerprint = '';

const tarball = (note: string): Buffer =>
  tarOf(
    { name: 'metadata.yaml', content: `${goodMetadata}properties: {note: ${note}}\n`, mode: 0o644 },
    rootfsDirectory,
  );

beforeAll(async () => {
  const adapt = (host: HostDrivers): HostDrivers => ({
    ...host,
    runtime: Object.assign(host.runtime, { missing: ['apparmor'] }),
  });
  daemon = await makeSeeded({ adapt });
  const uploaded = await daemon.ok('POST', '/1.0/images', tarball('one'));
  fingerprint = String(uploaded.metadata?.['fingerprint']);
  await daemon.call('POST', '/1.0/images/aliases', { name: 'one', target: fingerprint });
  await daemon.call('POST', '/1.0/networks', { name: 'gtyabr0', config: { 'ipv4.address': '10.214.0.1/24' } });
  await createContainer(daemon, 'c1');
  await daemon.call('POST', '/1.0/profiles', { name: 'p1' });
});
afterAll(() => daemon.cleanUp());

let count = 0;
const fresh = (): string => `f${(count += 1)}`;
/** A new object in the list at a path. */
async function made(list: string, body: object = {}): Promise<string> {
  const name = fresh();
  const answer = await daemon.call('POST', list, { name, ...body });
  if (answer.status === 202) await daemon.wait(answer.body.operation as string);
  return `${list}/${name}`;
}
const container = (): Promise<string> => made('/1.0/containers', { source: emptySource });
async function running(): Promise<string> {
  const path = await container();
  await daemon.ok('PUT', `${path}/state`, { action: 'start' });
  return path;
}
async function withFile(at: string): Promise<string> {
  const path = `${await container()}/${at}`;
  await daemon.call('POST', path, Buffer.from('x'));
  return path;
}
async function recordedLog(): Promise<string> {
  const body = { command: ['echo', 'x'], 'record-output': true };
  const { metadata } = await daemon.ok('POST', `${await running()}/exec`, body);
  return (metadata?.['output'] as Record<string, string> | undefined)?.['1'] ?? '';
}
const certificate = async (): Promise<object> => ({
  type: 'client',
  certificate: (await makePair('test')).certPem,
  name: 'laptop',
});
/** There since the start. */
async function warning(): Promise<string> {
  const list = async (): Promise<string[]> => daemon.get('/1.0/warnings');
  await until(async () => (await list()).length > 0);
  return (await list())[0] ?? '';
}
let subnets = 0;
const network = (): object => ({ config: { 'ipv4.address': `10.215.${(subnets += 1)}.1/24`, 'ipv6.address': 'none' } });

const customs = '/1.0/storage-pools/default/volumes/custom';
const volumePath = '/1.0/storage-pools/:pool/volumes/:type/:name';

/** Makes what a path of the contract names, a new one each time; the longest one that begins a path counts for it. */
const makers: Readonly<Record<string, () => string | Promise<string>>> = {
  '/1.0/certificates/:fingerprint': async () =>
    String((await daemon.call('POST', '/1.0/certificates', await certificate())).headers.location),
  '/1.0/containers/:name': container,
  '/1.0/containers/:name/backups/:backup': async () => made(`${await container()}/backups`),
  '/1.0/containers/:name/console': async () => `${await running()}/console`,
  '/1.0/containers/:name/exec': async () => `${await running()}/exec`,
  '/1.0/containers/:name/files': () => withFile('files?path=/note'),
  '/1.0/containers/:name/logs': async () => `${await running()}/logs`,
  '/1.0/containers/:name/logs/:file': recordedLog,
  '/1.0/containers/:name/metadata/templates': () => withFile('metadata/templates?path=t'),
  '/1.0/containers/:name/snapshots/:snapshot': async () => made(`${await container()}/snapshots`),
  '/1.0/images/:fingerprint': async () =>
    `/1.0/images/${String((await daemon.ok('POST', '/1.0/images', tarball(fresh()))).metadata?.['fingerprint'])}`,
  '/1.0/images/aliases/*': () => made('/1.0/images/aliases', { target: fingerprint }),
  '/1.0/network-acls/:name': () => made('/1.0/network-acls'),
  '/1.0/networks/:name': () => made('/1.0/networks', network()),
  '/1.0/operations/:id': async () =>
    (await daemon.call('POST', `/1.0/images/${fingerprint}/secret`, {})).body.operation as string,
  '/1.0/profiles/:name': () => made('/1.0/profiles'),
  '/1.0/projects/:name': () => made('/1.0/projects'),
  '/1.0/storage-pools/:pool': () => made('/1.0/storage-pools', { driver: 'dir' }),
  '/1.0/storage-pools/:pool/volumes': () => '/1.0/storage-pools/default/volumes',
  '/1.0/storage-pools/:pool/volumes/:type': () => customs,
  [volumePath]: () => made(customs),
  [`${volumePath}/:snapshot`]: async () =>
    (await made(`${await container()}/snapshots`))
      .replace('/1.0/containers/', '/1.0/storage-pools/default/volumes/container/')
      .replace('/snapshots/', '/'),
  [`${volumePath}/backups/:backup`]: async () => made(`${await made(customs)}/backups`),
  [`${volumePath}/snapshots/:snapshot`]: async () => made(`${await made(customs)}/snapshots`),
  '/1.0/warnings/:uuid': warning,
};

async function urlOf({ path }: Endpoint): Promise<string> {
  const [place] = Object.keys(makers)
    .filter((each) => path === each || path.startsWith(`${each}/`))
    .toSorted((one, other) => other.length - one.length);
  return place === undefined ? path : `${await makers[place]?.()}${path.slice(place.length)}`;
}

type Body = object | undefined;
/** A body that most endpoints of a method accept. */
const usual: Readonly<Record<Method, () => Body>> = {
  GET: () => undefined,
  DELETE: () => undefined,
  POST: () => ({ name: fresh() }),
  PUT: () => ({ description: 'x' }),
  PATCH: () => ({ description: 'x' }),
};
const alias = (): Body => ({ name: fresh(), target: fingerprint });
const bytes = (): Body => Buffer.from('x');
/** The bodies of the others. */
const bodies: Partial<Record<EndpointId, () => Body>> = {
  'server.put': () => ({ config: {} }),
  'server.patch': () => ({ config: { 'core.trust_password': 'x' } }),
  'certificates.put': () => ({ type: 'client', name: 'new' }),
  'certificates.patch': () => ({ name: 'new' }),
  'containers.create': () => ({ name: fresh(), source: emptySource }),
  'containers.put': () => ({ profiles: ['default'] }),
  'containers.state.put': () => ({ action: 'start' }),
  'containers.exec': () => ({ command: ['true'] }),
  'containers.files.post': bytes,
  'containers.metadata.put': () => ({ architecture: 'x86_64', creation_date: 1 }),
  'containers.templates.put': bytes,
  'snapshots.put': () => ({ expires_at: '' }),
  'volumes.create': () => ({ name: fresh(), type: 'custom' }),
  'volumes.put': () => ({ config: {} }),
  'images.create': () => tarball(fresh()),
  'images.put': () => ({ public: true, properties: { a: 'b' } }),
  'images.patch': () => ({ public: true }),
  'images.secret': () => ({}),
  'images.refresh': () => undefined,
  'aliases.create': alias,
  'aliases.put': alias,
  'networks.create': () => ({ name: fresh(), ...network() }),
  'networks.put': () => ({ config: { 'ipv4.address': 'none' }, description: 'x' }),
  'networks.patch': () => ({ config: { 'user.a': 'b' } }),
  'networkAcls.put': () => ({ ingress: [{ action: 'allow', state: 'enabled' }] }),
  'networkAcls.patch': () => ({ config: { 'user.a': 'b' } }),
  'recovery.run': () => ({}),
  'warnings.put': () => ({ status: 'acknowledged' }),
  'warnings.patch': () => ({ status: 'new' }),
  'pools.create': () => ({ name: fresh(), driver: 'dir' }),
  'pools.patch': () => ({ config: { 'rsync.bwlimit': '1MB' } }),
};

/** Requests that take more than a body. */
const own: Partial<Record<EndpointId, () => Promise<Answer>>> = {
  'certificates.create': async () => daemon.call('POST', '/1.0/certificates', await certificate()),
  'containers.console.post': async () => {
    const path = await running();
    const answer = await daemon.call('POST', `${path}/console`, {});
    // A console waits for its client as long as the container runs.
    await daemon.ok('PUT', `${path}/state`, { action: 'stop', force: true });
    return answer;
  },
  'containers.templates.post': async () =>
    daemon.call('POST', `${await container()}/metadata/templates?path=t`, Buffer.from('x')),
  'events.get': async () => {
    (await daemon.listen('operation')).close();
    return { status: 101, headers: {}, bytes: Buffer.alloc(0), body: undefined, metadata: undefined };
  },
  'operations.wait': async () => daemon.call('GET', `${await makers['/1.0/operations/:id']?.()}/wait?timeout=0`),
  'pools.put': async () => {
    const path = await made('/1.0/storage-pools', { driver: 'dir' });
    return daemon.call('PUT', path, { config: (await daemon.get(path)).config });
  },
};

/** One valid request. */
async function request(row: Endpoint): Promise<Answer> {
  const id = row.id as EndpointId;
  const special = own[id];
  if (special !== undefined) return special();
  return daemon.call(row.method, await urlOf(row), (bodies[id] ?? usual[row.method])());
}

const rows: readonly Endpoint[] = endpoints;
/**
 * Elsewhere are those of a cluster, which change nothing without one (cluster.test.ts, test/e2e/cluster); operations.websocket, which
 * accepts an upgrade with a secret (services/containers/exec.test.ts); and volumes.postSnapshot, a migration, which waits for its other
 * side (test/e2e/cluster/volumes.test.ts).
 */
const elsewhere =
  /^(cluster\.(?!get$)|memberGroups\.|members\.(?!list$)|operations\.websocket$|volumes\.postSnapshot$)/;
const expectedStatus = (row: Endpoint): number =>
  row.mode === 'async' ? 202 : row.mode === 'websocket' ? 101 : (row.status ?? 200);

describe('every endpoint of this release', () => {
  test.each(rows.filter(({ id }) => !elsewhere.test(id)).map((row) => [row.id, row] as const))(
    '%s answers according to its row',
    async (id, row) => {
      const answer = await request(row);
      expect(answer.status, answer.bytes.toString()).toBe(expectedStatus(row));
      if (row.mode === 'websocket') return;
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
      if (row.mode === 'raw') return;
      if (answer.status === 204) {
        expect(answer.bytes).toHaveLength(0);
        expect(answer.headers.location).toMatch(/^\/1\.0\//);
        return;
      }
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
      if (row.mode === 'async') {
        expect(answer.body).toMatchObject({ type: 'async', status: 'OK', status_code: 100 });
        expect(answer.headers.location).toBe(answer.body.operation);
        expect(answer.body.operation).toBe(`/1.0/operations/${answer.metadata.id}`);
        const final = row.id === 'images.secret' ? undefined : await daemon.wait(answer.body.operation as string);
        // Uploaded here: other sources are in remote-images.test.ts.
        const wanted = row.id === 'images.refresh' ? /has no source/ : /^$/;
        expect(final?.err ?? '').toMatch(wanted);
        return;
      }
      expect(answer.body).toMatchObject({ type: 'sync', status: 'Success', status_code: 200 });
      if (row.result !== undefined) expect(validateBody(row.result, answer.metadata)).toEqual([]);
      if (row.etag && row.method === 'GET') expect(answer.headers.etag).toMatch(/^[0-9a-f]{64}$/);
    },
  );

  test.each(
    rows
      .filter((row) => row.method === 'GET' && row.query.includes('recursion') && !row.path.includes(':'))
      .map((row) => row.path),
  )('GET %s lists URLs, and with recursion=1 the objects behind them', async (path) => {
    // Operations of other tests end meanwhile.
    await until(async () => {
      const asked = [path, `${path}?recursion=1`, `${path}?recursion=no`, path];
      const [urls, objects, same, later] = await Promise.all(asked.map((one) => daemon.get(one)));
      if (!isDeepStrictEqual(urls, later)) return false;
      for (const url of urls as Json[]) expect(url).toMatch(/^\/1\.0\//);
      for (const object of objects as Json[]) expect(object).toBeTypeOf('object');
      expect((objects as Json[]).length).toBe((urls as Json[]).length);
      expect(same).toEqual(urls);
      return true;
    });
  });
});

const place = (path: string): string => path.replace(/:[a-z]+/g, 'x').replace('*', 'x');

test('every endpoint of the contract is served', () => {
  expect(rows.filter((row) => !row.built).map(({ id }) => id)).toEqual([]);
});

describe('paths and methods', () => {
  test.each(['/2.0', '/1.0/nothing', '/1.0/containers/c1/nothing', '/1.0/images/x/y/z', '/favicon.ico'])(
    'the unknown path %s answers 404',
    async (path) => {
      const answer = await daemon.call('GET', path);
      expect(answer.status).toBe(404);
      expect(answer.body).toMatchObject({
        type: 'error',
        error: 'Failure',
        error_code: 404,
        metadata: { code: 'notFound' },
      });
    },
  );

  test('a slash at the end of a path changes nothing', async () => {
    for (const path of [
      'operations',
      'containers',
      'containers/c1/snapshots',
      'images',
      'images/aliases',
      'storage-pools',
      'profiles',
    ]) {
      // Operations go from their list some seconds after they have ended.
      await vi.waitFor(async () => {
        const plain = await daemon.call('GET', `/1.0/${path}?recursion=0`);
        const slashed = await daemon.call('GET', `/1.0/${path}/?recursion=0`);
        expect([path, slashed.status, slashed.metadata]).toEqual([path, 200, plain.metadata]);
      });
    }
  });

  const known = new Map<string, Set<string>>();
  for (const row of rows) known.set(row.path, (known.get(row.path) ?? new Set()).add(row.method));
  const wrong = [...known].flatMap(([path, methods]) =>
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
      .filter((method) => !methods.has(method))
      .map((method) => [method, place(path)] as const),
  );
  test('a known path with a method it does not have answers 400, as the specification has no better status', async () => {
    expect(wrong.length).toBeGreaterThan(20);
    for (const [method, path] of wrong) {
      const answer = await daemon.call(method, path, method === 'GET' ? undefined : {});
      expect([method, path, answer.status, answer.metadata['code']]).toEqual([method, path, 400, 'notImplemented']);
    }
  });

  test('an expectation that the server does not know is no reason to refuse a request', async () => {
    expect((await daemon.call('GET', '/1.0', undefined, { expect: 'something' })).status).toBe(200);
  });

  test.each([
    ['a method other than GET', 'POST', { 'sec-websocket-version': '13' }],
    ['a version that does not exist', 'GET', { 'sec-websocket-version': '99' }],
  ])('an upgrade with %s answers 400 with an envelope', async (_what, method, headers) => {
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    const answer = await daemon.call(method, '/1.0/events', undefined, { ...upgrade, ...headers });
    expect([answer.status, answer.body]).toEqual([
      400,
      expect.objectContaining({ type: 'error', error_code: 400, error: 'Failure' }),
    ]);
  });

  test('an upgrade to events of types that do not exist names each of them once', async () => {
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    const headers = { ...upgrade, 'sec-websocket-version': '13' };
    for (const [types, named] of [
      [',', '""'],
      ['operation,moon,,moon', '"moon", ""'],
    ]) {
      const { status, body } = await daemon.call('GET', `/1.0/events?type=${types}`, undefined, headers);
      expect([status, body.metadata.message]).toEqual([400, expect.stringContaining(`type: ${named} is none of`)]);
    }
  });

  test('OPTIONS on a known path answers 200 without a body', async () => {
    const answer = await daemon.call('OPTIONS', '/1.0/containers');
    expect([answer.status, answer.bytes.length]).toEqual([200, 0]);
  });

  test.each(['/1.0/containers/%zz', '/1.0/containers/%ff', '//', '/1.0/images/aliases/%'])(
    'the malformed path %s is no failure of the server',
    async (path) => {
      const answer = await daemon.call('GET', path);
      expect([400, 404]).toContain(answer.status);
      expect(answer.body.type).toBe('error');
    },
  );

  test('the project default is accepted, any other one is 404', async () => {
    expect((await daemon.call('GET', '/1.0/containers?project=default')).status).toBe(200);
    expect((await daemon.call('GET', '/1.0/containers?project=blue')).status).toBe(404);
  });

  test('HEAD has the answer of GET without the body', async () => {
    for (const path of ['/1.0', '/1.0/containers', '/1.0/containers/nobody', '/1.0/nothing']) {
      const [got, head] = [await daemon.call('GET', path), await daemon.call('HEAD', path)];
      expect([path, head.status, head.bytes.length]).toEqual([path, got.status, 0]);
      expect(head.headers['content-type'], path).toBe(got.headers['content-type']);
    }
  });

  test('HEAD of a known path without a GET is a method that does not exist, not an object that is gone', async () => {
    for (const path of ['/1.0/containers/nobody/exec', '/1.0/events', '/1.0/images/aa/refresh']) {
      const head = await daemon.call('HEAD', path);
      expect([path, head.status, head.bytes.length]).toEqual([path, 400, 0]);
    }
  });

  test('all projects and one project at once are refused where LXD refuses them', async () => {
    for (const path of ['containers', 'storage-pools/default/volumes', 'storage-pools/default/volumes/custom']) {
      const answer = await daemon.call('GET', `/1.0/${path}?all-projects=true&project=default`);
      expect([path, answer.status, answer.metadata.message]).toEqual([
        path,
        400,
        'all-projects lists every project: leave out project (default)',
      ]);
      for (const query of ['all-projects=true', 'all-projects=true&project=', 'all-projects=false&project=default'])
        expect((await daemon.call('GET', `/1.0/${path}?${query}`)).status).toBe(200);
    }
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
    const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    const events = await daemon.call('GET', '/1.0/events?all-projects=true&project=default', undefined, {
      ...headers,
      ...key,
    });
    expect([events.status, events.metadata.message]).toEqual([400, expect.stringMatching(/leave out project/)]);
  });

  test('a cluster target is refused outside a cluster', async () => {
    const create = { name: 'placed', source: { type: 'none' } };
    for (const [method, path, body] of [
      ['POST', '/1.0/containers?target=node1', create],
      ['GET', '/1.0?target=node1', undefined],
      ['POST', '/1.0/storage-pools?target=node1', { name: 'p', driver: 'dir' }],
    ] as const) {
      const { status, metadata } = await daemon.call(method, path, body);
      expect([status, metadata.message]).toEqual([400, expect.stringMatching(/no cluster member node1/)]);
    }
    expect((await daemon.call('GET', '/1.0/containers/placed')).status).toBe(404);
    expect((await daemon.call('GET', '/1.0?target=none')).status).toBe(200);
  });

  test('a request that demands trust succeeds on the local socket', async () => {
    expect((await daemon.call('GET', '/1.0', undefined, { 'x-svc-authenticated': 'true' })).status).toBe(200);
  });
});

test('the socket belongs to the daemon and is not open to everybody', async () => {
  const { statSync } = await import('node:fs');
  expect(statSync(daemon.socketPath).mode & 0o777).toBe(0o660);
  expect(await readFile(join(daemon.dir, 'server.crt'), 'utf8')).toMatch(/BEGIN CERTIFICATE/);
});

test.each([
  ['no HTTP at all', 'nonsense\r\n\r\n'],
  ['a version of HTTP that does not exist', 'GET /1.0 HTTP/9.9\r\n\r\n'],
  ['a header without a colon', 'GET /1.0 HTTP/1.1\r\nhost x\r\n\r\n'],
  ['two lengths', 'POST /1.0 HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
  ['headers without end', `GET /1.0 HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(100_000)}`],
])('%s is answered with the envelope of errors, and the connection ends', async (_what, sent) => {
  const socket = connect(daemon.socketPath);
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const ended = new Promise((resolve) => socket.on('close', resolve));
  socket.on('error', () => {});
  socket.write(sent);
  await ended;
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\ncontent-type: application\/json/);
  expect(JSON.parse(body)).toMatchObject({
    type: 'error',
    error_code: 400,
    metadata: { code: 'badRequest', message: expect.stringMatching(/^The request is malformed: ./) },
  });
  expect((await daemon.call('GET', '/1.0')).status).toBe(200);
});
