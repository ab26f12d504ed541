// Access to the endpoints of a controller: every row of the table, tokens, sessions, requests of other sites.
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { EventStream } from '../../../../reconciler/controller/http/streams/event-stream.ts';
import { FakeController } from '../../../support/controller/fake-controller.ts';
import { Authenticator } from '../../../../reconciler/controller/http/access/authenticator.ts';
import { Sessions } from '../../../../reconciler/controller/http/access/sessions.ts';
import { TokenFiles } from '../../../../reconciler/controller/http/access/token-files.ts';
import { Attempts } from '../../../../server/lib/shared/attempts.ts';
import { endpoints } from '../../../../reconciler/controller/http/endpoints.ts';
import {
  ask,
  cookiesOf,
  logIn,
  startHttp,
  tokens,
  type Asking,
  type HttpHarness,
} from '../../../support/controller/http-harness.ts';
import { freePort } from '../../../support/hosts/free-port.ts';

let http: HttpHarness;
let open: HttpHarness;
beforeAll(async () => {
  http = await startHttp();
  open = await startHttp({ anonymous: 'view' });
});
afterAll(() => Promise.all([http.close(), open.close()]));

const bodies: Readonly<Record<string, unknown>> = {
  sync: {},
  suspend: { reason: 'test' },
  resume: {},
  rollback: { revision: 'c0ffee', reason: 'test' },
  prune: { revision: 'c0ffee', reason: 'test' },
  preview: { ref: 'main' },
  power: { action: 'start' },
  snapshot: { action: 'take' },
  login: { token: tokens.view },
};
const places = { set: 'web', source: 'main', host: 'h1', name: 'web1' };
const pathOf = (path: string): string => path.replaceAll(/:(\w+)/g, (_, name: keyof typeof places) => places[name]);
const rows = endpoints.map((row) => ({ ...row, url: pathOf(row.path), body: bodies[row.id] }));
const guarded = rows.filter(({ access }) => access === 'view' || access === 'operate');
const asking = ({ method, body }: (typeof rows)[number], more: Asking = {}): Asking => ({ method, body, ...more });

describe('a caller without a login', () => {
  test.each(guarded)('is refused by $method $url', async (row) => {
    const reply = await http.ask(row.url, asking(row));
    expect(reply.status).toBe(401);
    expect(reply.json()).toMatchObject({ error: { code: 'unauthorized' } });
  });

  test.each(guarded.filter(({ access }) => access === 'operate'))(
    'is refused by $method $url even with anonymous viewing',
    async (row) => expect((await open.ask(row.url, asking(row))).status).toBe(401),
  );

  test('may view with anonymous viewing', async () => {
    expect((await open.ask('/api/v1/overview')).status).toBe(200);
    expect((await open.ask('/api/v1/session')).json()).toMatchObject({ role: 'view' });
  });

  test('loses its streams when a reload ends anonymous viewing', async () => {
    const settings: { listen: string; console: boolean; anonymous?: 'view' } = {
      listen: '127.0.0.1:0',
      console: false,
      anonymous: 'view',
    };
    const authenticator = new Authenticator({
      settings,
      tokens: await TokenFiles.open([], Date.now, () => {}),
      sessions: new Sessions(Date.now),
      attempts: new Attempts(Date.now, { free: 5, firstDelayMs: 1, maxDelayMs: 1, maxAddresses: 1 }),
      mayAsk: () => false,
      onDenied: () => {},
      onLogin: () => {},
    });
    const request = { headers: { host: '127.0.0.1' }, socket: {} } as IncomingMessage;
    const caller = await authenticator.callerOf(request);
    expect([caller.role, authenticator.isStillGood(request, caller)]).toEqual(['view', true]);
    delete settings.anonymous;
    expect(authenticator.isStillGood(request, caller)).toBe(false);
  });

  test.each(['evil.test', 'evil.test:8440', '127.0.0.1.evil.test'])(
    'is refused under the foreign host name %j, which prevents DNS rebinding',
    async (host) => expect((await open.ask('/api/v1/overview', { headers: { host } })).status).not.toBe(200),
  );
});

describe('a caller with the role view', () => {
  test.each(guarded.filter(({ access }) => access === 'operate'))('is refused by $method $url', async (row) => {
    const reply = await http.ask(row.url, asking(row, { token: tokens.view }));
    expect(reply.status).toBe(403);
    expect(reply.json<{ error: { message: string } }>().error.message).toContain('viewer has the role view');
    expect(http.controller.asked).toEqual([]);
  });

  test.each(guarded.filter(({ access, mode }) => access === 'view' && mode !== 'events'))(
    'passes at $method $url',
    async (row) => expect([200, 400]).toContain((await http.ask(row.url, asking(row, { token: tokens.view }))).status),
  );
});

describe('tokens', () => {
  test.each(['', 'Basic dXNlcjpwYXNz', 'Bearer', `Bearer ${tokens.view}x`, `Bearer ${tokens.view.slice(0, -1)}`])(
    'are not taken from the header %j',
    async (authorization) => {
      const own = await startHttp();
      expect((await own.ask('/api/v1/overview', { headers: { authorization } })).status).toBe(401);
      await own.close();
    },
  );

  test('change and expire with their files, and so do their sessions', async () => {
    let now = Date.now();
    const own = await startHttp({ nowMs: () => now });
    const { cookie } = await logIn(own, tokens.view);
    expect((await own.ask('/api/v1/overview', { headers: { cookie } })).status).toBe(200);
    await writeFile(join(own.directory, 'view'), 'another-token-0123456789');
    now += 10_000;
    expect((await own.ask('/api/v1/overview', { headers: { cookie } })).status).toBe(401);
    expect((await own.ask('/api/v1/overview', { token: tokens.view })).status).toBe(401);
    expect((await own.ask('/api/v1/overview', { token: 'another-token-0123456789' })).status).toBe(200);
    await rename(join(own.directory, 'view'), join(own.directory, 'gone'));
    now += 10_000;
    expect((await own.ask('/api/v1/overview', { token: 'another-token-0123456789' })).status).toBe(401);
    expect(own.logged.join('\n')).toContain('The token of viewer cannot be read');
    await own.close();
  });

  test('are rate-limited after wrong ones, except tokens that were accepted before', async () => {
    let now = Date.now();
    const own = await startHttp({ nowMs: () => now });
    await own.ask('/api/v1/overview', { token: tokens.view });
    for (let wrong = 0; wrong < 5; wrong += 1)
      expect((await own.ask('/api/v1/session', { body: { token: `wrong-${wrong}` } })).status).toBe(401);
    const refused = await own.ask('/api/v1/session', { body: { token: tokens.operate } });
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBe('1');
    expect((await own.ask('/api/v1/overview', { token: tokens.operate })).status).toBe(429);
    expect((await own.ask('/api/v1/overview', { token: tokens.view })).status).toBe(200);
    now += 1100;
    expect((await own.ask('/api/v1/session', { body: { token: tokens.operate } })).status).toBe(200);
    await own.close();
  });
});

describe('a session', () => {
  test('has a cookie that is inaccessible to scripts and other sites', async () => {
    const reply = await http.ask('/api/v1/session', { body: { token: tokens.operate } });
    expect(reply.headers['set-cookie']).toEqual([
      expect.stringMatching(/^gantry-session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/),
    ]);
    expect(reply.json()).toMatchObject({ name: 'operateer', role: 'operate', login: { token: true, oidc: false } });
  });

  test('has a cookie for TLS only where a proxy ends TLS', async () => {
    const at = `127.0.0.1:${await freePort()}`;
    const own = await startHttp({ listen: at, url: 'https://gantry.example.test' });
    onTestFinished(() => own.close());
    const cookieFor = async (origin: string): Promise<string> => {
      const asking = { body: { token: tokens.view }, headers: { origin } };
      return String((await ask(`http://${at}/api/v1/session`, asking)).headers['set-cookie']);
    };
    expect(await cookieFor('https://gantry.example.test')).toMatch(/SameSite=Strict; Secure$/);
    expect(await cookieFor(`http://${at}`)).toMatch(/SameSite=Strict$/);
  });

  test('needs its CSRF token for changes', async () => {
    const mine = await logIn(http, tokens.operate);
    const other = await logIn(http, tokens.operate);
    const sync = (headers: Readonly<Record<string, string>>) =>
      http.ask('/api/v1/sets/web/sync', { body: {}, headers });
    expect((await sync({ cookie: mine.cookie })).status).toBe(403);
    expect((await sync({ cookie: mine.cookie, 'x-csrf-token': other.csrf })).status).toBe(403);
    expect(http.controller.asked).toEqual([]);
    expect((await sync({ cookie: mine.cookie, 'x-csrf-token': mine.csrf })).status).toBe(202);
    expect(http.controller.asked.splice(0)).toEqual([{ what: 'sync', set: 'web', request: {}, by: 'operateer' }]);
  });

  test.each<[string, Readonly<Record<string, string>>]>([
    ['another origin', { origin: 'https://evil.test' }],
    ['no origin of its own', { origin: 'null' }],
    ['another port', { origin: 'http://127.0.0.1:1' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a neighbouring site', { 'sec-fetch-site': 'same-site' }],
  ])('is refused for a page of %s, and such a page cannot log in', async (_, headers) => {
    const { cookie, csrf } = await logIn(http, tokens.operate);
    const reply = await http.ask('/api/v1/sets/web/sync', {
      body: {},
      headers: { cookie, 'x-csrf-token': csrf, ...headers },
    });
    expect(reply.status).toBe(403);
    expect((await http.ask('/api/v1/session', { body: { token: tokens.operate }, headers })).status).toBe(403);
    expect(http.controller.asked).toEqual([]);
  });

  test('allows changes for our own page', async () => {
    const { cookie, csrf } = await logIn(http, tokens.operate);
    const headers = { cookie, 'x-csrf-token': csrf, origin: http.listener.url, 'sec-fetch-site': 'same-origin' };
    expect((await http.ask('/api/v1/sets/web/sync', { body: {}, headers })).status).toBe(202);
    http.controller.asked.splice(0);
  });

  test('is refused with a forged cookie, or with two', async () => {
    const { cookie } = await logIn(http, tokens.operate);
    const forged = [
      'gantry-session=',
      'gantry-session=undefined',
      `gantry-session=${'A'.repeat(43)}`,
      `${cookie}x`,
      `${cookie}; ${cookie}`,
      `x${cookie}`,
      'gantry-session=__proto__',
    ];
    for (const one of forged)
      expect((await http.ask('/api/v1/overview', { headers: { cookie: one } })).status, one).toBe(401);
  });

  test('ends with the logout, and after twelve hours', async () => {
    let now = Date.now();
    const own = await startHttp({ nowMs: () => now });
    const first = await logIn(own, tokens.view);
    const status = async ({ cookie }: { cookie: string }) =>
      (await own.ask('/api/v1/overview', { headers: { cookie } })).status;
    const out = await own.ask('/api/v1/session', {
      method: 'DELETE',
      headers: { cookie: first.cookie, 'x-csrf-token': first.csrf },
    });
    expect(out.status).toBe(204);
    expect(cookiesOf(out)).toBe('gantry-session=');
    expect(await status(first)).toBe(401);
    const second = await logIn(own, tokens.view);
    now += 12 * 3_600_000 - 1000;
    expect(await status(second)).toBe(200);
    now += 2000;
    expect(await status(second)).toBe(401);
    await own.close();
  });

  test('begins with a one-time ticket', async () => {
    const url = http.listener.ticketUrl({ name: 'root', role: 'operate' });
    const reply = await ask(url);
    expect(reply.text).toContain('http-equiv="refresh"');
    const session = await http.ask('/api/v1/session', { headers: { cookie: cookiesOf(reply) } });
    expect(session.json()).toMatchObject({ name: 'root', role: 'operate' });
    expect((await ask(url)).status).toBe(403);
    const again = await ask(url, { headers: { cookie: cookiesOf(reply) } });
    expect([again.status, cookiesOf(again)]).toEqual([200, '']);
  });
});

test('a change of no hosts at all is refused, since a rollback would hold the set and move nothing', async () => {
  for (const row of rows.filter(({ id }) => ['sync', 'rollback', 'preview'].includes(id))) {
    const body = { ...Object(row.body), hosts: [] };
    expect((await http.ask(row.url, { ...asking(row), body, token: tokens.operate })).status).toBe(400);
  }
});

test('a listener that left while its login was checked takes no place in the stream of events', async () => {
  const stream = new EventStream(new FakeController());
  const server = createServer((request, response) => {
    response.once('close', () => stream.open(request, response, {}, { isAllowed: () => true, scope: () => undefined }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [request] = await Promise.all([
    once(server, 'request'),
    once(socket, 'connect').then(() => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')),
  ]);
  const closed = once(request[1] as ServerResponse, 'close');
  socket.destroy();
  await closed;
  expect(stream.size).toBe(0);
  stream.close();
  server.close();
});
