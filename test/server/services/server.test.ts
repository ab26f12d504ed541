// The server object, its config and the certificates (spec 2.3, 4.1, 5), over the local socket and over real TLS connections.
import { createServer } from 'node:net';
import { Agent } from 'node:https';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { endpoints } from '../../../server/api/endpoints/endpoint-table.ts';
import { rowIn, type Endpoint } from '../../../server/api/endpoints/endpoint.ts';
import { servedExtensions } from '../../../server/api/server/extensions.ts';
import { callTls, makeClient, type ClientCertificate } from '../../support/daemons/tls.ts';
import {
  listenOn,
  makeDaemon,
  seed,
  withDaemon,
  type Answer,
  type Json,
  type TestDaemon,
} from '../../support/daemons/daemon.ts';
import { runningMinutes } from '../../support/daemons/clock.ts';
import { until } from '../../support/until.ts';
import { freePort } from '../../support/hosts/free-port.ts';

let daemon: TestDaemon;
let stranger: ClientCertificate;
let trusted: ClientCertificate;
const local = '127.0.0.1:0';

const address = (of: TestDaemon = daemon): string => {
  const found = of.daemon.httpsAddress();
  if (found === undefined) throw new Error('no TLS listener');
  return found;
};

beforeAll(async () => {
  [daemon, stranger, trusted] = await Promise.all([
    makeDaemon({ https: local, lxd: { https: local } }),
    makeClient('stranger'),
    makeClient('trusted'),
  ]);
  await seed(daemon);
  await daemon.call('POST', '/1.0/certificates', { type: 'client', certificate: trusted.certPem, name: 'desk' });
});
afterAll(() => daemon.cleanUp());

describe('GET /1.0', () => {
  test('returns everything to a trusted caller', async () => {
    const answer = await daemon.call('GET', '/1.0');
    expect(answer.metadata).toMatchObject({
      api_status: 'stable',
      api_version: '1.0',
      auth: 'trusted',
      public: false,
      api_extensions: [...servedExtensions],
    });
    expect(answer.metadata.environment).toMatchObject({
      addresses: [address()],
      driver: 'sim',
      kernel: 'Linux',
      server_pid: process.pid,
      storage: 'dir',
      server: 'gantry',
    });
    expect(answer.metadata.environment.certificate).toMatch(/BEGIN CERTIFICATE/);
  });

  test.each([
    ['guest', undefined],
    ['untrusted', (): ClientCertificate => stranger],
  ])('returns five members only to a %s, and no ETag', async (auth, client) => {
    const answer = await callTls(address(), 'GET', '/1.0', undefined, { client: client?.() });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.metadata as object).toSorted()).toEqual([
      'api_extensions',
      'api_status',
      'api_version',
      'auth',
      'public',
    ]);
    expect(answer.metadata.auth).toBe(auth);
    expect(answer.headers.etag).toBeUndefined();
  });

  test('returns everything over TLS to a trusted certificate, unless it is expired', async () => {
    expect((await callTls(address(), 'GET', '/1.0', undefined, { client: trusted })).metadata.auth).toBe('trusted');
    const old = await makeClient('old', [-7_200_000, -3_600_000]);
    await daemon.call('POST', '/1.0/certificates', { type: 'client', certificate: old.certPem });
    expect((await callTls(address(), 'GET', '/1.0', undefined, { client: old })).metadata.auth).toBe('untrusted');
  });
});

describe('server config', () => {
  const config = async (): Promise<Json> => (await daemon.get('/1.0')).config;

  test('PATCH changes the sent keys, PUT replaces all, empty unsets, defaults are not stored', async () => {
    expect(
      (
        await daemon.call('PATCH', '/1.0', {
          config: { 'core.proxy_ignore_hosts': 'a', 'images.auto_update_interval': '3' },
        })
      ).status,
    ).toBe(200);
    expect(await config()).toEqual({ 'core.proxy_ignore_hosts': 'a', 'images.auto_update_interval': '3' });
    await daemon.call('PATCH', '/1.0', {
      config: { 'core.proxy_ignore_hosts': '', 'images.auto_update_interval': '6' },
    });
    expect(await config()).toEqual({});
    await daemon.call('PATCH', '/1.0', { config: { 'core.proxy_ignore_hosts': 'a' } });
    await daemon.call('PUT', '/1.0', { config: { 'images.auto_update_cached': 'no' } });
    expect(await config()).toEqual({ 'images.auto_update_cached': 'false' });
    await daemon.call('PUT', '/1.0', {});
    expect(await config()).toEqual({});
    expect((await daemon.call('PATCH', '/1.0', {})).status).toBe(200);
  });

  test('every bad key of a request is reported, and none is stored', async () => {
    const answer = await daemon.call('PATCH', '/1.0', {
      config: {
        'core.https_adress': ':1',
        'images.auto_update_interval': 'often',
        'core.proxy_ignore_hosts': 'x',
        'cluster.offline_threshold': 7,
      },
    });
    expect(answer.status).toBe(400);
    expect(answer.body.metadata.details.map((each: Json) => each.path)).toEqual([
      'config.cluster.offline_threshold',
      'config.core.https_adress',
      'config.images.auto_update_interval',
    ]);
    expect(answer.body.metadata.message).toMatch(/core\.https_address/);
    expect(await config()).toEqual({});
  });

  test.each(['cluster.https_address', 'core.debug_address', 'core.https_address', 'core.metrics_address'])(
    '%s with a name without an address is refused, and nothing is stored',
    async (key) => {
      const body = { config: { [key]: 'nonsense.invalid:1', 'user.a': 'b' } };
      const answer = await daemon.call('PATCH', '/1.0', body);
      expect([answer.status, answer.body.metadata.details]).toEqual([
        400,
        [{ path: `config.${key}`, message: expect.stringContaining('"nonsense.invalid" has no address') }],
      ]);
      expect(await config()).toEqual({});
    },
  );

  test('the trust password is written as text and reads back as true, also after a restart', async () => {
    await withDaemon({}, async (own) => {
      await own.call('PATCH', '/1.0', { config: { 'core.trust_password': 'open sesame' } });
      await own.restart();
      const answer = await own.call('GET', '/1.0');
      expect(answer.metadata.config).toEqual({ 'core.trust_password': true });
      expect(answer.bytes.toString()).not.toContain('sesame');
      await own.call('PUT', '/1.0', { config: { 'core.trust_password': true } });
      expect((await own.get('/1.0')).config).toEqual({ 'core.trust_password': true });
      await own.call('PATCH', '/1.0', { config: { 'core.trust_password': '' } });
      expect((await own.get('/1.0')).config).toEqual({});
    });
  });

  test('If-Match: the ETag of GET passes, an older one answers 412 and changes nothing', async () => {
    const etag = String((await daemon.call('GET', '/1.0')).headers.etag);
    const change = { config: { 'core.proxy_ignore_hosts': 'one' } };
    expect((await daemon.call('PATCH', '/1.0', change, { 'if-match': etag })).status).toBe(200);
    for (const method of ['PUT', 'PATCH']) {
      const stale = await daemon.call(
        method,
        '/1.0',
        { config: { 'core.proxy_ignore_hosts': 'two' } },
        { 'if-match': etag },
      );
      expect([stale.status, stale.body.metadata.code]).toEqual([412, 'preconditionFailed']);
    }
    expect(await config()).toEqual({ 'core.proxy_ignore_hosts': 'one' });
    await daemon.call('PUT', '/1.0', { config: {} });
  });

  test('cross-origin headers follow the config', async () => {
    const headers = {
      'core.https_allowed_origin': 'https://ui.example',
      'core.https_allowed_methods': 'GET',
      'core.https_allowed_headers': 'a',
      'core.https_allowed_credentials': 'true',
    };
    await daemon.call('PATCH', '/1.0', { config: headers });
    const answer = await daemon.call('GET', '/1.0/nothing', undefined, { origin: 'https://ui.example' });
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': 'https://ui.example',
      'access-control-allow-methods': 'GET',
      'access-control-allow-headers': 'a',
      'access-control-allow-credentials': 'true',
    });
    expect((await daemon.call('GET', '/1.0')).headers['access-control-allow-origin']).toBeUndefined();
    await daemon.call('PUT', '/1.0', { config: {} });
    expect(
      (await daemon.call('GET', '/1.0', undefined, { origin: 'x' })).headers['access-control-allow-origin'],
    ).toBeUndefined();
  });
});

describe('callers without trust', () => {
  const rows: readonly Endpoint[] = endpoints;
  const place = (path: string): string => path.replace(/:[a-z]+/g, 'x').replace('*', 'x');

  test.each([
    ['guest', 'svc', undefined],
    ['untrusted', 'svc', (): ClientCertificate => stranger],
    ['guest', 'lxd', undefined],
    ['untrusted', 'lxd', (): ClientCertificate => stranger],
  ] as const)('a %s gets 403 from every other endpoint of the dialect %s', async (auth, dialect, client) => {
    const closed = rows.filter((row) => !rowIn(dialect, row).auth.includes(auth) && row.mode !== 'websocket');
    expect(closed.length).toBeGreaterThan(90);
    const at = dialect === 'lxd' ? (daemon.daemon.lxdHttpsAddress() ?? '') : address();
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    for (const row of closed) {
      const body = row.method === 'GET' ? undefined : {};
      const answer = await callTls(at, row.method, place(row.path), body, { client: client?.(), agent });
      expect([row.id, answer.status]).toEqual([row.id, 403]);
      if (dialect === 'svc') expect(answer.body.metadata.code).toBe('forbidden');
    }
  });

  test('an unknown path is 404 before the trust check; a wrong method of a known one 403', async () => {
    expect((await callTls(address(), 'GET', '/1.0/nothing')).status).toBe(404);
    expect((await callTls(address(), 'DELETE', '/1.0/networks')).status).toBe(403);
  });

  test('may read the root, the server, its resources and public images', async () => {
    expect((await callTls(address(), 'GET', '/')).metadata).toEqual(['/1.0']);
    const { metadata: resources } = await callTls(address(), 'GET', '/1.0/resources');
    expect(resources.cpu.total).toBeGreaterThan(0);
    expect(resources.memory.total).toBeGreaterThan(resources.memory.used);
    expect((await callTls(address(), 'GET', '/1.0/images')).metadata).toEqual([]);
  });

  test('are refused when they demand trust', async () => {
    const answer = await callTls(address(), 'GET', '/1.0', undefined, { headers: { 'x-svc-authenticated': 'true' } });
    expect(answer.status).toBe(403);
  });

  test('get no events', async () => {
    await expect(listenOn(`wss://${address()}/1.0/events`, { rejectUnauthorized: false })).rejects.toThrow(/403/);
  });
});

describe('trusting certificates', () => {
  const ask = (client: ClientCertificate | undefined, body: object): Promise<Answer> =>
    callTls(address(), 'POST', '/1.0/certificates', { type: 'client', ...body }, { client });

  test('a client with the trust password becomes trusted; with a wrong one, or none set, not', async () => {
    const client = await makeClient('new');
    expect((await ask(client, { password: 'x' })).status).toBe(403);
    await daemon.call('PATCH', '/1.0', { config: { 'core.trust_password': 'right' } });
    expect((await ask(client, { password: 'wrong' })).status).toBe(403);
    expect((await ask(client, {})).status).toBe(403);
    expect((await callTls(address(), 'GET', '/1.0', undefined, { client })).metadata.auth).toBe('untrusted');
    const added = await ask(client, { password: 'right' });
    expect([added.status, added.headers.location]).toEqual([200, `/1.0/certificates/${client.fingerprint}`]);
    expect((await callTls(address(), 'GET', '/1.0', undefined, { client })).metadata.auth).toBe('trusted');
    const again = await ask(client, { password: 'right' });
    expect(again.status).toBe(400);
    expect(again.body.metadata.message).toMatch(/already trusted/);
    const stored = await daemon.get(`/1.0/certificates/${client.fingerprint}`);
    expect(stored).toMatchObject({ type: 'client', name: '127.0.0.1', fingerprint: client.fingerprint });
    await daemon.call('PATCH', '/1.0', { config: { 'core.trust_password': '' } });
  });

  test('a guest without a certificate is refused', async () => {
    expect((await ask(undefined, { password: 'right' })).status).toBe(403);
  });

  test('a trusted certificate gets another name by PATCH and by PUT, and keeps its fingerprint', async () => {
    const client = await makeClient('renamed');
    await daemon.call('POST', '/1.0/certificates', { type: 'client', name: 'first', certificate: client.certPem });
    const url = `/1.0/certificates/${client.fingerprint}`;
    for (const [method, name] of [
      ['PATCH', 'second'],
      ['PUT', 'third'],
    ] as const) {
      expect((await daemon.call(method, url, { type: 'client', name })).status).toBe(200);
      expect(await daemon.get(url)).toMatchObject({ name, type: 'client', fingerprint: client.fingerprint });
    }
    expect((await daemon.call('PATCH', url, { name: 'fourth' }, { 'if-match': '"old"' })).status).toBe(412);
    await daemon.call('DELETE', url);
    expect((await daemon.call('PATCH', url, { name: 'fourth' })).status).toBe(404);
  });

  test.each([
    [{ type: 'server' }, 'type'],
    [{ type: 'client' }, 'certificate'],
    [{ type: 'client', certificate: 'rubbish' }, 'certificate'],
  ])('%j over the local socket is refused', async (body, path) => {
    const answer = await daemon.call('POST', '/1.0/certificates', body);
    expect([answer.status, answer.body.metadata.details[0]?.path]).toEqual([400, path]);
  });

  test('a certificate is found by a part of its fingerprint, renamed with If-Match, listed', async () => {
    const path = `/1.0/certificates/${trusted.fingerprint.slice(0, 16)}`;
    const etag = String((await daemon.call('GET', path)).headers.etag);
    expect((await daemon.call('PUT', path, { type: 'client', name: 'desk 2' }, { 'if-match': etag })).status).toBe(200);
    expect((await daemon.call('PATCH', path, { name: 'desk 3' }, { 'if-match': etag })).status).toBe(412);
    expect((await daemon.call('PUT', path, { type: 'server', name: 'x' })).status).toBe(400);
    expect((await daemon.get(path)).name).toBe('desk 2');
    expect(await daemon.get('/1.0/certificates')).toContain(`/1.0/certificates/${trusted.fingerprint}`);
    expect((await daemon.call('GET', '/1.0/certificates/00000000')).status).toBe(404);
  });
});

describe('a trusted certificate', () => {
  const read = (fingerprint: string): Promise<Json> => daemon.get(`/1.0/certificates/${fingerprint}`);

  test.each(['PUT', 'PATCH'])(
    'is replaced by the one in a %s: the new client is trusted, the old one no more',
    async (how) => {
      const [old, next] = await Promise.all([makeClient('old'), makeClient('next')]);
      await daemon.call('POST', '/1.0/certificates', { type: 'client', name: how, certificate: old.certPem });
      const trustOf = async (client: ClientCertificate) =>
        (await callTls(address(), 'GET', '/1.0', undefined, { client })).metadata.auth;
      expect([await trustOf(old), await trustOf(next)]).toEqual(['trusted', 'untrusted']);
      const path = `/1.0/certificates/${old.fingerprint}`;
      const broken = await daemon.call(how, path, { name: how, type: 'client', certificate: 'zzz' });
      expect([broken.status, broken.metadata.details[0].path]).toEqual([400, 'certificate']);
      const taken = await daemon.call(how, path, { name: how, type: 'client', certificate: trusted.certPem });
      expect(taken.status).toBe(409);
      const sent = { name: how, type: 'client', certificate: next.certPem };
      expect((await daemon.call(how, path, sent)).status).toBe(200);
      expect([await trustOf(old), await trustOf(next)]).toEqual(['untrusted', 'trusted']);
      expect(await read(next.fingerprint)).toMatchObject({
        name: how,
        fingerprint: next.fingerprint,
        restricted: false,
      });
      expect((await daemon.call('GET', path)).status).toBe(404);
      // The same one again is no change.
      expect((await daemon.call(how, `/1.0/certificates/${next.fingerprint}`, sent)).status).toBe(200);
      expect(await trustOf(next)).toBe('trusted');
    },
  );

  test('keeps the projects beside restricted: false, which limit nothing until it is restricted', async () => {
    const client = await makeClient('listed');
    await daemon.call('POST', '/1.0/projects', { name: 'listed' });
    await daemon.call('POST', '/1.0/certificates', { type: 'client', name: 'l', certificate: client.certPem });
    const path = `/1.0/certificates/${client.fingerprint}`;
    const misled = await daemon.call('PATCH', path, { projects: ['listed'] });
    expect([misled.status, misled.metadata.message]).toEqual([400, expect.stringMatching(/limits nothing/)]);
    const put = { name: 'l', type: 'client', restricted: false, projects: ['listed'] };
    expect((await daemon.call('PUT', path, put)).status).toBe(200);
    expect(await read(client.fingerprint)).toMatchObject({ restricted: false, projects: ['listed'] });
    expect((await callTls(address(), 'GET', '/1.0/certificates', undefined, { client })).status).toBe(200);
    expect((await daemon.call('PATCH', path, { restricted: true })).status).toBe(200);
    expect(await read(client.fingerprint)).toMatchObject({ restricted: true, projects: ['listed'] });
    expect((await callTls(address(), 'GET', '/1.0/containers', undefined, { client })).status).toBe(404);
    await daemon.call('PATCH', path, { restricted: false, projects: ['listed'] });
    await daemon.call('DELETE', '/1.0/projects/listed');
    expect(await read(client.fingerprint)).toMatchObject({ restricted: false, projects: [] });
  });
});

describe('the TLS listener', () => {
  test('refuses TLS 1.1 and accepts 1.2', async () => {
    await expect(callTls(address(), 'GET', '/1.0', undefined, { maxVersion: 'TLSv1.1' })).rejects.toThrow(
      /EPROTO|alert|version/i,
    );
    expect((await callTls(address(), 'GET', '/1.0', undefined, { maxVersion: 'TLSv1.2' })).status).toBe(200);
  });

  test('core.https_address opens, moves and closes it while the daemon runs', async () => {
    await withDaemon({}, async (own) => {
      const [one, two] = [await freePort(), await freePort()];
      await own.call('PATCH', '/1.0', { config: { 'core.https_address': `127.0.0.1:${one}` } });
      expect((await callTls(`127.0.0.1:${one}`, 'GET', '/1.0')).status).toBe(200);
      await own.call('POST', '/1.0/certificates', { type: 'client', certificate: trusted.certPem });
      // Sent over the same listener that is closed: the answer must still arrive.
      const moved = await callTls(
        `127.0.0.1:${one}`,
        'PATCH',
        '/1.0',
        { config: { 'core.https_address': `127.0.0.1:${two}` } },
        { client: trusted },
      );
      expect(moved.status).toBe(200);
      await expect(callTls(`127.0.0.1:${one}`, 'GET', '/1.0')).rejects.toThrow(/ECONNREFUSED/);
      expect((await own.get('/1.0')).environment.addresses).toEqual([`127.0.0.1:${two}`]);
      await own.restart();
      expect((await callTls(`127.0.0.1:${two}`, 'GET', '/1.0')).status).toBe(200);
      await own.call('PUT', '/1.0', { config: {} });
      await expect(callTls(`127.0.0.1:${two}`, 'GET', '/1.0')).rejects.toThrow(/ECONNREFUSED/);
      expect((await own.get('/1.0')).environment.addresses).toEqual([]);
    });
  });

  test('a port in use answers 500; the value stays stored, the daemon starts with it, and takes the port once it is free', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => holder.once('listening', resolve));
    const port = (holder.address() as { port: number }).port;
    onTestFinished(() => void holder.close());
    const minutes = runningMinutes();
    await withDaemon({ time: minutes.time }, async (own) => {
      const answer = await own.call('PATCH', '/1.0', { config: { 'core.https_address': `127.0.0.1:${port}` } });
      expect(answer.status).toBe(500);
      expect(answer.body.metadata.message).toMatch(/saved, but listening/);
      expect((await own.get('/1.0')).config).toEqual({ 'core.https_address': `127.0.0.1:${port}` });
      await own.restart();
      expect((await own.call('GET', '/1.0')).status).toBe(200);
      await new Promise((resolve) => holder.close(resolve));
      minutes.pass(60_000);
      await until(async () => ((await own.get('/1.0')).environment.addresses as string[]).length === 1);
      expect((await callTls(`127.0.0.1:${port}`, 'GET', '/1.0')).status).toBe(200);
    });
  });

  test('its certificate stays the same after a restart', async () => {
    const before = (await daemon.get('/1.0')).environment.certificate_fingerprint;
    await daemon.restart();
    expect((await daemon.get('/1.0')).environment.certificate_fingerprint).toBe(before);
  });
});

describe('A compression algorithm', () => {
  test.each(['images.compression_algorithm', 'backups.compression_algorithm'])(
    'in %s must name a program that the host has',
    async (key) => {
      const answer = await daemon.call('PATCH', '/1.0', { config: { [key]: 'gzipp' } });
      expect(answer.status).toBe(400);
      expect(JSON.stringify(answer.metadata)).toMatch(new RegExp(`config.${key}.*did you mean gzip`));
      expect((await daemon.call('GET', '/1.0')).metadata.config[key]).toBeUndefined();
      const project = { name: 'packed', config: { [key]: 'gzipp' } };
      expect((await daemon.call('POST', '/1.0/projects', project)).status).toBe(400);
      const changed = await daemon.call('PATCH', '/1.0/projects/default', project);
      expect([changed.status, JSON.stringify(changed.metadata)]).toEqual([
        400,
        expect.stringMatching(/did you mean gzip/),
      ]);
    },
  );
});
