// The login of browsers at an OpenID Connect issuer: roles from claims, forgeries, and cookies over TLS.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { IssuerLogin } from '../../../../reconciler/controller/http/access/issuer-login.ts';
import { ask, cookiesOf, startHttp, tokens, type HttpHarness } from '../../../support/controller/http-harness.ts';
import { startIssuer, type TestIssuer } from '../../../support/daemons/issuer.ts';
import { callTls, makePair } from '../../../support/daemons/tls.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

describe('a login at an issuer', () => {
  let issuer: TestIssuer;
  let http: HttpHarness;
  beforeAll(async () => void (issuer = await startIssuer()));
  afterAll(() => issuer.close());
  beforeEach(async () => {
    issuer.claims = {};
    const roles = { claim: 'groups', operate: ['admins'], view: ['staff'] };
    const grants = [{ groups: ['staff'], sets: ['web'], rights: ['sync'] as const }];
    http = await startHttp({ oidc: { issuer: issuer.url, clientId: 'gantry', roles }, grants });
  });
  afterEach(() => http.close());

  /** Begins a login at the issuer; `back`: its redirect. */
  async function begin() {
    const leave = await http.ask('/auth/login');
    expect(leave.status).toBe(303);
    const cookie = cookiesOf(leave);
    expect(leave.headers['set-cookie']?.[0]).toMatch(/^gantry-login=[\w-]{43}; .*HttpOnly; SameSite=Lax/);
    const agreed = await ask(String(leave.headers.location));
    return { cookie, back: String(agreed.headers.location) };
  }

  test.each([
    [['admins'], 'operate'],
    [['staff'], 'view'],
    [['staff', 'admins'], 'operate'],
    ['admins', 'operate'],
  ])('gives a user of the groups %j the role %s', async (groups, role) => {
    issuer.claims = { sub: 'u7', groups, preferred_username: 'ada', email: 'root@example.test' };
    const { cookie, back } = await begin();
    const reply = await ask(back, { headers: { cookie } });
    expect(reply.status).toBe(200);
    expect(reply.headers['set-cookie']?.at(-1)).toContain('SameSite=Strict');
    const session = await http.ask('/api/v1/session', { headers: { cookie: cookiesOf(reply) } });
    expect(session.json()).toMatchObject({ name: 'ada (u7)', role, login: { token: true, oidc: true } });
  });

  test('gives a user the grants of the groups', async () => {
    issuer.claims = { sub: 'u7', groups: ['staff'] };
    const { cookie, back } = await begin();
    const logged = cookiesOf(await ask(back, { headers: { cookie } }));
    const session = await http.ask('/api/v1/session', { headers: { cookie: logged } });
    expect(session.json()).toMatchObject({ role: 'view', may: [{ set: 'web', rights: ['sync'] }] });
    const headers = { cookie: logged, 'x-csrf-token': session.json<{ csrfToken: string }>().csrfToken };
    expect((await http.ask('/api/v1/sets/web/sync', { body: {}, headers })).status).toBe(202);
    const body = { revision: 'c0ffee', reason: 'x' };
    expect((await http.ask('/api/v1/sets/web/rollback', { body, headers })).status).toBe(403);
  });

  test.each([[[]], [['other']], [undefined], [{ admins: true }], [['ADMINS', 'admins ']]])(
    'gives a user of the groups %j nothing',
    async (groups) => {
      issuer.claims = groups === undefined ? {} : { groups };
      const { cookie, back } = await begin();
      const reply = await ask(back, { headers: { cookie } });
      expect([reply.status, cookiesOf(reply)]).toEqual([403, '']);
    },
  );

  test('a login at an issuer that another browser began is refused, and so is its second use', async () => {
    issuer.claims = { groups: ['admins'] };
    const mine = await begin();
    const other = await begin();
    expect((await ask(other.back)).status).toBe(403);
    expect((await ask(other.back, { headers: { cookie: mine.cookie } })).status).toBe(403);
    // The attempt with the wrong state has ended the login that its cookie began.
    expect((await ask(mine.back, { headers: { cookie: mine.cookie } })).status).toBe(403);
    const third = await begin();
    expect((await ask(third.back, { headers: { cookie: third.cookie } })).status).toBe(200);
    expect((await ask(third.back, { headers: { cookie: third.cookie } })).status).toBe(403);
  });

  test('a login at an issuer with a foreign signature, or for another client, is refused', async () => {
    issuer.claims = { groups: ['admins'], aud: 'another-client' };
    const other = await begin();
    expect((await ask(other.back, { headers: { cookie: other.cookie } })).status).toBe(403);
    issuer.claims = { groups: ['admins'], nonce: 'replayed' };
    const replayed = await begin();
    expect((await ask(replayed.back, { headers: { cookie: replayed.cookie } })).status).toBe(403);
    issuer.claims = { groups: ['admins'] };
    const token = issuer.token.bind(issuer);
    onTestFinished(() => void (issuer.token = token));
    issuer.token = async (...given) => (await token(...given)).replace(/[^.]+$/, (own) => 'A'.repeat(own.length));
    const forged = await begin();
    expect((await ask(forged.back, { headers: { cookie: forged.cookie } })).status).toBe(403);
  });

  test('a visitor who begins many logins does not end those of other networks', async () => {
    const roles = { claim: 'groups', operate: ['admins'] };
    const login = new IssuerLogin({ issuer: issuer.url, clientId: 'gantry', roles }, 'http://127.0.0.1/x', Date.now);
    const first = await login.begin('198.51.100.7');
    const early = await login.begin('203.0.113.9');
    await Promise.all(Array.from({ length: 600 }, () => login.begin('203.0.113.9')));
    await expect(login.finish(first.secret, '?code=x')).rejects.toThrow('did not confirm the login');
    await expect(login.finish(early.secret, '?code=x')).rejects.toThrow('has not begun the login');
  });

  test('reports that the issuer does not answer, and works once it does', async () => {
    issuer.broken = 500;
    const reply = await http.ask('/auth/login');
    expect(reply.status).toBe(503);
    expect(reply.text).toContain(issuer.url);
    issuer.broken = undefined;
    expect((await http.ask('/auth/login')).status).toBe(303);
  });
});

test('cookies of a TLS login are sent over TLS only, and browsers get HSTS', async () => {
  const directory = tempFolder('gantry-tls-');
  const pair = await makePair('controller', { subjectAltNames: ['IP:127.0.0.1'], usage: 'server' });
  const tls = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') };
  await Promise.all([writeFile(tls.cert, pair.certPem), writeFile(tls.key, pair.keyPem)]);
  const http = await startHttp({ tls });
  expect(http.listener.url).toMatch(/^https:/);
  const address = new URL(http.listener.url).host;
  const reply = await callTls(address, 'POST', '/api/v1/session', { token: tokens.view });
  expect(reply.headers['set-cookie']?.[0]).toMatch(/^__Host-gantry-session=.*; HttpOnly; SameSite=Strict; Secure$/);
  expect(reply.headers['strict-transport-security']).toContain('max-age=');
  await http.close();
  await rm(directory, { recursive: true, force: true });
});
