// Requests that a web page makes a browser send to the daemon over TLS, with the user's certificate, are accepted only for the origin
// in the CORS keys; programs, which send no origin or the server's own, are not affected.
import { beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { originProblem } from '../../../server/auth/origin.ts';
import { callTls, makeClient, type ClientCertificate } from '../../support/daemons/tls.ts';
import { fileDaemon } from '../../support/daemons/file-daemon.ts';

const daemon = await fileDaemon({ https: '127.0.0.1:0', lxd: { https: '127.0.0.1:0' } });
let client: ClientCertificate;
beforeAll(async () => {
  client = await makeClient();
  const certificate = client.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  await daemon.call('POST', '/1.0/certificates', { type: 'client', certificate });
});

const page = 'https://evil.example';
const allow = (origin: string) => daemon.call('PATCH', '/1.0', { config: { 'core.https_allowed_origin': origin } });
let count = 0;

describe.each([
  ['its own dialect', () => daemon.daemon.httpsAddress() ?? ''],
  ['the dialect of LXD', () => daemon.daemon.lxdHttpsAddress() ?? ''],
])('in %s', (_dialect, address) => {
  /** A page can send it without a preflight request: its type is a form's. */
  const post = async (headers: Record<string, string>): Promise<number> => {
    const body = Buffer.from(JSON.stringify({ name: `p${(count += 1)}` }));
    const sent = { 'content-type': 'text/plain', ...headers };
    return (await callTls(address(), 'POST', '/1.0/profiles', body, { client, headers: sent })).status;
  };
  const open = (path: string, origin?: string): Promise<number> => {
    const { certPem: cert, keyPem: key } = client;
    const socket = new WebSocket(`wss://${address()}${path}`, {
      cert,
      key,
      rejectUnauthorized: false,
      ...(origin === undefined ? {} : { headers: { origin } }),
    });
    return new Promise((resolve) => {
      socket.on('error', () => {});
      socket.once('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
      socket.once('open', () => {
        socket.terminate();
        resolve(101);
      });
    });
  };

  test.each([page, 'null', 'https://127.0.0.1:1', 'http://127.0.0.1'])(
    'a change from %s is refused',
    async (origin) => {
      await allow('');
      const before = (await daemon.get('/1.0/profiles')).length;
      expect(await post({ origin })).toBe(403);
      expect((await daemon.get('/1.0/profiles')).length).toBe(before);
    },
  );

  test('a change without an origin, or with that of the server, is accepted', async () => {
    expect([200, 201]).toContain(await post({}));
    expect([200, 201]).toContain(await post({ origin: `https://${address()}` }));
  });

  test('a request of the configured origin is accepted, and of no other', async () => {
    await allow(page);
    expect([200, 201]).toContain(await post({ origin: page }));
    expect(await post({ origin: 'https://evil.example.org' })).toBe(403);
    await allow('*');
    expect([200, 201]).toContain(await post({ origin: 'https://evil.example.org' }));
    await allow('');
  });

  test('a page gets no websockets of events and operations', async () => {
    expect(await open('/1.0/events', page)).toBe(403);
    expect(await open('/1.0/events')).toBe(101);
    expect(await open('/1.0/events', `wss://${address()}`)).toBe(101);
    const channel = '/1.0/operations/00000000-0000-0000-0000-000000000000/websocket?secret=x';
    expect(await open(channel, page)).toBe(403);
    expect(await open(channel)).toBe(404);
  });

  test('a read is answered without the headers that would show it to the page', async () => {
    const answer = await callTls(address(), 'GET', '/1.0/profiles', undefined, { client, headers: { origin: page } });
    expect(answer.status).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });
});

test('the origin is ignored on the local socket: browsers cannot reach it', async () => {
  const answer = await daemon.call('POST', '/1.0/profiles', { name: 'local' }, { origin: page });
  expect(answer.status).toBe(200);
});

test.each([
  ['https://h:443', 'h', true],
  ['https://h', 'h:443', true],
  ['wss://h:8443', 'h:8443', true],
  ['https://[::1]:8443', '[::1]:8443', true],
  ['https://h:8443', 'h', false],
  ['https://h.evil', 'h', false],
  ['null', 'null', false],
  ['file://', 'h', false],
])('the origin %s equals the host %s: %s', (origin, host, isOwn) => {
  expect(originProblem({ origin, host, isEffective: true, allowed: '' }) === undefined).toBe(isOwn);
});
