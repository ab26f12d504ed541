// Bearer tokens of an OpenID Connect issuer: the rights of a valid one, and refusals of forged, foreign or outdated ones.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { grantOf, oidcSettings } from '../../../server/auth/oidc/settings.ts';
import {
  createContainer,
  listenOn,
  makeDaemon,
  seed,
  setState,
  type TestDaemon,
} from '../../support/daemons/daemon.ts';
import { useDaemon } from '../../support/daemons/emptied.ts';
import { audience, startIssuer, type TestIssuer } from '../../support/daemons/issuer.ts';
import { callTls, makeClient } from '../../support/daemons/tls.ts';
import { until } from '../../support/until.ts';

describe('the groups of a user', () => {
  const config = {
    'oidc.issuer': 'https://i',
    'oidc.client.id': 'c',
    'oidc.groups.trusted': 'admins, root',
    'oidc.groups.projects.web': 'p2,p1',
    'oidc.groups.projects.db': 'p2,p3',
  };
  const of = (claims: object, more: object = {}) => {
    const settings = oidcSettings({ ...config, ...more });
    return settings === undefined ? undefined : grantOf(settings, { ...claims });
  };
  test('groups make a user trusted, or restricted to projects, or give nothing', () => {
    expect(of({ groups: ['x', 'root'] })).toEqual({ class: 'trusted' });
    expect(of({ groups: 'admins' })).toEqual({ class: 'trusted' });
    expect(of({ groups: ['web', 'db'] })).toEqual({ class: 'restricted', projects: ['p1', 'p2', 'p3'] });
    expect(of({ groups: ['web', 'admins'] })).toEqual({ class: 'trusted' });
    expect(of({ roles: ['root'] }, { 'oidc.groups.claim': 'roles' })).toEqual({ class: 'trusted' });
  });
  test.each([
    [{}],
    [{ groups: [] }],
    [{ groups: [['admins']] }],
    [{ groups: { admins: true } }],
    [{ groups: 'admins,root' }],
    [{ groups: ['Admins'] }],
  ])('%j give nothing', (claims) => expect(of(claims)).toEqual({ class: 'untrusted' }));
  test('groups give nothing without an entry in the config, and tokens have no meaning without issuer and client', () => {
    expect(of({ groups: ['admins'] }, { 'oidc.groups.trusted': '' })).toEqual({ class: 'untrusted' });
    expect(of({ groups: ['toString'] }, { 'oidc.groups.claim': '__proto__' })).toEqual({ class: 'untrusted' });
    expect(of({}, { 'oidc.issuer': '' })).toBeUndefined();
    expect(of({}, { 'oidc.client.id': '' })).toBeUndefined();
  });
});

let issuer: TestIssuer;
let daemon: TestDaemon;
beforeAll(async () => (issuer = await startIssuer()));
afterAll(() => issuer.close());

const listening = { https: '127.0.0.1:0', lxd: { https: '127.0.0.1:0' } };

async function begin(given: TestDaemon): Promise<void> {
  issuer.broken = undefined;
  daemon = given;
  await configure({ 'oidc.issuer': issuer.url, 'oidc.client.id': audience, 'oidc.groups.trusted': 'admins' });
  issuer.asked.length = 0;
}
const openDaemon = async (): Promise<void> => begin(await makeDaemon(listening));
async function configure(config: object): Promise<void> {
  expect((await daemon.call('PATCH', '/1.0', { config })).status).toBe(200);
}
const address = (): string => daemon.daemon.httpsAddress() ?? '';
const ask = (token: string, path = '/1.0/containers', method = 'GET', body?: object) =>
  callTls(address(), method, path, body, { headers: { authorization: `Bearer ${token}` } });
const admin = (claims: object = {}) => issuer.token({ groups: ['admins'], email: 'ann@example.com', ...claims });
const now = () => Math.floor(Date.now() / 1000);

const unsigned = (header: object, payload: object): string =>
  `${[header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;
const good = () => ({ iss: issuer.url, aud: audience, sub: 'u1', groups: ['admins'], exp: now() + 300 });
const strangers = generateKeyPair('RS256', { extractable: true });
const signedBy = async (header: object) =>
  new SignJWT(good()).setProtectedHeader({ alg: 'RS256', ...header }).sign((await strangers).privateKey);
const changed = (token: string, at: 0 | 1 | 2, part: string): string =>
  token
    .split('.')
    .map((old, index) => (index === at ? part : old))
    .join('.');
const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('over TLS', () => {
  useDaemon((given) => void (daemon = given), listening);
  beforeEach(() => begin(daemon));

  test('a token of a trusted group grants everything, on both dialects, and events name its user', async () => {
    const events = await daemon.listen('lifecycle');
    const token = await admin();
    expect((await ask(token)).status).toBe(200);
    expect((await ask(token, '/1.0')).metadata).toMatchObject({ auth: 'trusted', auth_methods: ['tls', 'oidc'] });
    const lxd = await callTls(daemon.daemon.lxdHttpsAddress() ?? '', 'GET', '/1.0', undefined, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(lxd.metadata).toMatchObject({ auth: 'trusted', auth_methods: ['tls', 'oidc'] });
    expect((await ask(token, '/1.0/profiles', 'POST', { name: 'p1' })).status).toBe(200);
    const event = await events.next(({ metadata }) => JSON.stringify(metadata).includes('profile-created'));
    expect(event.metadata).toMatchObject({ requestor: { username: 'ann@example.com', protocol: 'oidc' } });
  });

  test('callers without trust learn the issuer from headers, and clients of LXD the method', async () => {
    const { headers, metadata } = await callTls(address(), 'GET', '/1.0');
    expect(headers).toMatchObject({ 'x-svc-oidc-issuer': issuer.url, 'x-svc-oidc-clientid': audience });
    expect(metadata.auth_methods).toBeUndefined();
    await configure({ 'candid.api.url': 'https://candid.example.com', 'oidc.audience': 'api' });
    const lxd = await callTls(daemon.daemon.lxdHttpsAddress() ?? '', 'GET', '/1.0');
    expect(lxd.headers).toMatchObject({ 'x-lxd-oidc-issuer': issuer.url, 'x-lxd-oidc-audience': 'api' });
    expect(lxd.metadata.auth_methods).toEqual(['tls', 'candid', 'oidc']);
  });

  test('candid.api.url is the issuer without oidc.issuer, and candid.domains and candid.expiry restrict its users', async () => {
    const candid = {
      'candid.api.url': issuer.url,
      'candid.domains': 'example.com, lab.example',
      'candid.expiry': '60',
    };
    await configure({ 'oidc.issuer': '', ...candid });
    const { metadata } = await callTls(daemon.daemon.lxdHttpsAddress() ?? '', 'GET', '/1.0');
    expect(metadata.auth_methods).toEqual(['tls', 'candid', 'oidc']);
    const of = async (claims: object): Promise<number> =>
      (await ask(await issuer.token({ groups: ['admins'], ...claims }))).status;
    expect(await of({ preferred_username: 'ann@example.com' })).toBe(200);
    expect(await of({ email: 'ann@lab.example', email_verified: true })).toBe(200);
    expect(await of({ email: 'ann@lab.example' })).toBe(403);
    for (const name of ['ann@evil.example', 'ann', 'ann@example.com@evil.example', '@example.com'])
      expect(await of({ preferred_username: name }), name).toBe(403);
    const now = Math.floor(Date.now() / 1000);
    const preferred_username = 'ann@example.com';
    expect(await of({ preferred_username, iat: now - 120 })).toBe(401);
    expect(await of({ preferred_username, iat: undefined })).toBe(401);
    expect(await of({ preferred_username, iat: now + 86_400, exp: now + 172_800 })).toBe(401);
    expect(await of({ preferred_username, iat: now - 40 })).toBe(200);
  });

  test('only tokens signed by candid.api.key are valid if it is set, and the issuer gets no request', async () => {
    const { publicKey, privateKey } = await generateKeyPair('EdDSA', { extractable: true });
    const key = Buffer.from((await exportJWK(publicKey)).x ?? '', 'base64url').toString('base64');
    const url = 'http://candid.lan.example/v1';
    const sign = (name: string): Promise<string> => {
      const now = Math.floor(Date.now() / 1000);
      const payload = { iss: url, aud: audience, sub: name, iat: now, exp: now + 300, groups: ['admins'] };
      return new SignJWT(payload).setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt' }).sign(privateKey);
    };
    await configure({ 'oidc.issuer': '', 'candid.api.url': url });
    expect((await ask(await sign('ann'))).status).toBe(403);
    await configure({ 'oidc.issuer': '', 'candid.api.url': url, 'candid.api.key': key });
    const asked = issuer.asked.length;
    expect((await ask(await sign('ann'))).status).toBe(200);
    const foreign = await issuer.token({ iss: url, groups: ['admins'] });
    expect((await ask(foreign)).status).toBe(401);
    expect(issuer.asked.length).toBe(asked);
    const wrong = await daemon.call('PATCH', '/1.0', { config: { 'candid.api.key': 'c2hvcnQ=' } });
    expect([wrong.status, wrong.bytes.toString()]).toEqual([400, expect.stringContaining('32 bytes in base64')]);
  });

  test('the event stream opens with a token, and ends when the config no longer trusts its user', async () => {
    const headers = { authorization: `Bearer ${await admin()}` };
    const listening = await listenOn(`wss://${address()}/1.0/events`, { headers, rejectUnauthorized: false });
    await daemon.call('POST', '/1.0/profiles', { name: 'p1' });
    await listening.next(({ metadata }) => JSON.stringify(metadata).includes('profile-created'));
    await configure({ 'oidc.groups.trusted': 'others' });
    await until(() => listening.socket.readyState === listening.socket.CLOSED);
    expect((await ask(headers.authorization.slice(7))).status).toBe(403);
  });

  test('a refusal mentions the token and its groups, not a certificate', async () => {
    const refusal = async (token: string, path?: string, method?: string): Promise<string> => {
      const { status, metadata } = await ask(token, path, method, method === undefined ? undefined : {});
      return `${status} ${metadata.message}`;
    };
    const guests = await issuer.token({ groups: ['guests'] });
    expect(await refusal(guests)).toMatch(
      /^403 .*no group in the token is one that oidc\.groups\.\* of the server names$/,
    );
    expect((await daemon.call('POST', '/1.0/projects', { name: 'web' })).status).toBeLessThan(300);
    await configure({ 'oidc.groups.projects.webbers': 'web' });
    const webber = await issuer.token({ groups: ['webbers'] });
    expect(await refusal(webber, '/1.0/containers?all-projects=true')).toMatch(
      /^403 .*the user of this token is restricted/,
    );
    expect(await refusal(webber, '/1.0/storage-pools', 'POST')).toMatch(/^403 .*the user of this token is restricted/);
  });

  test('commands of a user end when the config no longer trusts the user, and continue when only others lose trust', async () => {
    await seed(daemon);
    await createContainer(daemon, 'c1');
    await setState(daemon, 'c1', 'start');
    const command = { command: ['sleep', '600'], 'record-output': false };
    const started = async (claims: object): Promise<string> => {
      const answer = await ask(await admin(claims), '/1.0/containers/c1/exec', 'POST', command);
      expect(answer.status).toBe(202);
      return String(answer.metadata.id);
    };
    await configure({ 'oidc.groups.trusted': 'admins,helpers' });
    const [ann, ben] = [
      await started({ sub: 'ann', email: 'same@example.com' }),
      await started({ sub: 'ben', email: 'same@example.com', groups: ['helpers'] }),
    ];
    const status = async (id: string): Promise<string> => (await daemon.get(`/1.0/operations/${id}`)).status;
    await configure({ 'oidc.groups.trusted': 'admins' });
    await until(async () => (await status(ben)) !== 'Running');
    expect((await daemon.get(`/1.0/operations/${ben}`)).err).toMatch(/the user who started it is no longer trusted/);
    expect(await status(ann)).toBe('Running');
    await configure({ 'oidc.issuer': '' });
    await until(async () => (await status(ann)) !== 'Running');
    await setState(daemon, 'c1', 'stop', { force: true });
  });

  test('requests to the issuer use core.proxy_https, unless core.proxy_ignore_hosts excludes it', async () => {
    const asked: string[] = [];
    const proxy = createServer().on('connect', (request, socket) => {
      asked.push(request.url ?? '');
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void proxy.close());
    const { port } = proxy.address() as AddressInfo;
    const iss = 'https://issuer.invalid/realm';
    await configure({ 'oidc.issuer': iss, 'core.proxy_https': `http://127.0.0.1:${port}` });
    expect((await ask(await admin({ iss }))).metadata.code).toBe('unavailable');
    expect(asked).toEqual(['issuer.invalid:443']);
    await configure({ 'oidc.issuer': 'https://other.invalid/x', 'core.proxy_ignore_hosts': 'other.invalid' });
    expect((await ask(await admin({ iss: 'https://other.invalid/x' }))).metadata.code).toBe('unavailable');
    expect(asked).toEqual(['issuer.invalid:443']);
  });

  test('a user in no group of the config is refused, and a trusted certificate beside its token adds nothing', async () => {
    const token = await issuer.token({ groups: ['guests'] });
    expect((await ask(token)).status).toBe(403);
    const client = await makeClient();
    const certificate = client.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    expect((await daemon.call('POST', '/1.0/certificates', { type: 'client', certificate })).status).toBe(200);
    const headers = { authorization: `Bearer ${token}` };
    expect((await callTls(address(), 'GET', '/1.0/containers', undefined, { client })).status).toBe(200);
    expect((await callTls(address(), 'GET', '/1.0/containers', undefined, { client, headers })).status).toBe(403);
  });

  test('a user of a group for some projects sees and uses only them, and no certificate by a name that is a fingerprint', async () => {
    expect((await daemon.call('POST', '/1.0/projects', { name: 'web' })).status).toBeLessThan(300);
    expect((await daemon.call('POST', '/1.0/projects', { name: 'db' })).status).toBeLessThan(300);
    await configure({ 'oidc.groups.projects.webbers': 'web' });
    const { fingerprint, certPem } = await makeClient();
    const certificate = certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    expect((await daemon.call('POST', '/1.0/certificates', { type: 'client', certificate })).status).toBe(200);
    const token = await issuer.token({ groups: ['webbers'], email: fingerprint });
    expect((await ask(token, '/1.0/containers?project=web')).status).toBe(200);
    expect((await ask(token, '/1.0/containers?project=db')).status).toBe(404);
    expect((await ask(token, '/1.0/containers')).status).toBe(404);
    expect((await ask(token, '/1.0/projects')).metadata).toEqual(['/1.0/projects/web']);
    expect((await ask(token, '/1.0/certificates')).metadata).toEqual([]);
    expect((await ask(token, '/1.0', 'PATCH', { config: {} })).status).toBe(403);
    const headers = { authorization: `Bearer ${token}` };
    const listening = await listenOn(`wss://${address()}/1.0/events?project=web`, {
      headers,
      rejectUnauthorized: false,
    });
    await configure({ 'oidc.groups.projects.webbers': 'web,db' });
    await until(() => listening.socket.readyState === listening.socket.CLOSED);
    expect((await ask(token, '/1.0/containers?project=db')).status).toBe(200);
  });

  test('a group that may use a project may not use another one that gets its name later', async () => {
    for (const name of ['web', 'db', 'old'])
      expect((await daemon.call('POST', '/1.0/projects', { name })).status).toBeLessThan(300);
    await configure({ 'oidc.groups.projects.webbers': 'web, db,old', 'oidc.groups.projects.readers': 'web' });
    const token = await issuer.token({ groups: ['webbers'] });
    const headers = { authorization: `Bearer ${token}` };
    const listening = await listenOn(`wss://${address()}/1.0/events?project=web`, {
      headers,
      rejectUnauthorized: false,
    });
    await daemon.call('DELETE', '/1.0/projects/web');
    await until(() => listening.socket.readyState === listening.socket.CLOSED);
    await daemon.ok('POST', '/1.0/projects/old', { name: 'new' });
    for (const name of ['web', 'old']) await daemon.call('POST', '/1.0/projects', { name });
    const status = async (project: string) => (await ask(token, `/1.0/containers?project=${project}`)).status;
    expect(await Promise.all(['web', 'db', 'old', 'new'].map(status))).toEqual([404, 200, 404, 200]);
    const { config } = (await daemon.call('GET', '/1.0')).metadata;
    expect(config['oidc.groups.projects.webbers']).toBe('db,new');
    expect(config['oidc.groups.projects.readers']).toBeUndefined();
  });

  test('an issuer with another name is refused, and so is a missing one', async () => {
    await configure({ 'oidc.issuer': `${issuer.url}/` });
    const claims = { iss: `${issuer.url}/` };
    expect((await ask(await admin(claims))).metadata.message).toMatch(/is of the issuer "http/);
    await configure({ 'oidc.issuer': 'http://127.0.0.1:1/gone' });
    expect((await ask(await admin({ iss: 'http://127.0.0.1:1/gone' }))).metadata.code).toBe('unavailable');
  });

  test('the header has no effect without an issuer', async () => {
    const token = await admin();
    await configure({ 'oidc.issuer': '' });
    expect((await ask(token)).status).toBe(403);
    expect((await ask('nonsense', '/1.0')).metadata.auth).toBe('guest');
  });
});

describe('over TLS, to a daemon that does not know the keys of the issuer', () => {
  beforeEach(openDaemon);
  afterEach(() => daemon.cleanUp());

  test('invalid tokens cost the issuer no request, unknown keys few; keys are cached', async () => {
    for (let n = 0; n < 5; n++) await ask(unsigned({ alg: 'RS256' }, { ...good(), iss: 'x' }));
    expect(issuer.asked).toEqual([]);
    for (let n = 0; n < 20; n++) await ask(await signedBy({ kid: `made-up-${n}` }));
    for (let n = 0; n < 5; n++) await ask(await admin({ jti: String(n) }));
    expect(issuer.asked).toEqual(['/realm/.well-known/openid-configuration', '/realm/keys']);
  });

  test('new keys of the issuer are found, elliptic ones too; tokens of the former ones are refused', async () => {
    const old = await admin();
    await issuer.rotate('ES256');
    expect((await ask(await admin())).status).toBe(200);
    expect((await ask(old)).status).toBe(401);
    await issuer.rotate('RS256');
  });

  test.each([500, 302, 404])('an issuer that answers %d grants nothing, and the reason is reported', async (status) => {
    issuer.broken = status;
    const answer = await ask(await admin());
    expect(answer.metadata).toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(`answered ${status}`),
    });
    const lxd = await callTls(daemon.daemon.lxdHttpsAddress() ?? '', 'GET', '/1.0/containers', undefined, {
      headers: { authorization: `Bearer ${await admin()}` },
    });
    expect(lxd.status).toBe(503);
    const requests = issuer.asked.length;
    for (let n = 0; n < 10; n++) await ask(await admin({ jti: String(n) }));
    expect(issuer.asked.length).toBe(requests);
  });
});

const refused: readonly (readonly [string, () => Promise<string> | string, RegExp])[] = [
  ['without a signature (alg none)', () => unsigned({ alg: 'none' }, good()), /algorithm "none" is not accepted/],
  ['with alg nOnE', () => unsigned({ alg: 'nOnE' }, good()), /algorithm "nOnE" is not accepted/],
  [
    'signed with the public key as secret (HS256)',
    async () => new SignJWT(good()).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(await issuer.publicPem())),
    /algorithm "HS256" is not accepted/,
  ],
  ['signed by another key without kid', () => signedBy({}), /signature verification failed/],
  [
    'signed by another key under a known kid',
    async () =>
      signedBy({ kid: JSON.parse(Buffer.from((await admin()).split('.')[0] ?? '', 'base64url').toString()).kid }),
    /signature verification failed/,
  ],
  ['with a path as kid', () => signedBy({ kid: '../../../../dev/null' }), /no applicable key/],
  ['with a query as kid', () => signedBy({ kid: "' OR 1=1 --" }), /no applicable key/],
  [
    'with its key in the header',
    async () => signedBy({ jwk: await exportJWK((await strangers).publicKey) }),
    /signature verification failed/,
  ],
  [
    'with an unknown critical header',
    () => `${unsigned({ alg: 'RS256', crit: ['x'], x: 1 }, good())}AAAA`,
    /"x" is not recognized/,
  ],
  ['of another issuer', () => admin({ iss: 'https://evil.example.com' }), /its issuer is "https:\/\/evil/],
  ['of an issuer that only begins alike', () => admin({ iss: `${issuer.url}.evil` }), /its issuer is/],
  ['without an issuer', () => admin({ iss: undefined }), /its issuer is undefined/],
  ['for another audience', () => admin({ aud: 'other' }), /"aud" claim/],
  ['without an audience', () => admin({ aud: undefined }), /"aud" claim/],
  ['that has expired', () => admin({ exp: now() - 31 }), /it has expired/],
  ['that never expires', () => admin({ exp: undefined }), /it never expires/],
  [
    'with an expiry that is no number',
    () => admin({ exp: '99999999999' as unknown as number }),
    /it never expires|must be a number/,
  ],
  ['that is not yet good', () => admin({ nbf: now() + 60 }), /"nbf" claim/],
  ['without a subject', () => admin({ sub: undefined }), /"sub" claim/],
  ['with an empty subject', () => admin({ sub: '' }), /its subject "" names no user/],
  ['with an object as its subject', () => admin({ sub: {} as never }), /its subject \{\} names no user/],
  [
    'of another type',
    () => issuer.token({ groups: ['admins'] }, { typ: 'logout+jwt' }),
    /is not that of an access token/,
  ],
  [
    'with a changed payload',
    async () => changed(await issuer.token(), 1, base64(good())),
    /signature verification failed/,
  ],
  ['with a cut signature', async () => (await admin()).slice(0, -10), /signature verification failed/],
  ['without a signature part', async () => changed(await admin(), 2, ''), /signature verification failed/],
  ['that is huge', () => admin({ filler: 'x'.repeat(9500) }), /more than 12288/],
  ['that is no JWT', () => 'open-sesame', /Invalid|Protected Header/],
  ['of one dot', () => '.', /./],
  ['of dots', () => '...', /./],
];

/** A daemon logs twenty refusals in a minute. */
describe.each([0, 1])('over TLS, each second refused token from the %ith on', (half) => {
  beforeAll(openDaemon);
  afterAll(() => daemon.cleanUp());

  test.each(refused.filter((_, at) => at % 2 === half))(
    'a token %s is refused: the client learns nothing more, and the log has the reason',
    async (_name, make, reason) => {
      const token = await make();
      const seen = daemon.logged.length;
      const answer = await ask(token);
      expect([answer.status, answer.metadata?.message]).toEqual([
        401,
        'The token of the request is not accepted: log in again',
      ]);
      const [line = ''] = daemon.logged.slice(seen).filter((text) => text.includes('was refused'));
      expect(line).toMatch(/^warning: A token from 127\.0\.0\.1 was refused: /);
      expect(line).toMatch(reason);
      expect((await ask(await admin())).status).toBe(200);
    },
  );
});

describe('over TLS, to one daemon', () => {
  beforeAll(openDaemon);
  afterAll(() => daemon.cleanUp());

  test('a clock difference of half a minute does not matter', async () => {
    expect((await ask(await admin({ exp: now() - 20 }))).status).toBe(200);
    expect((await ask(await admin({ nbf: now() + 20 }))).status).toBe(200);
  });

  test('a token cannot name an address for its keys', async () => {
    const asked: string[] = [];
    const evil = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end('{}');
    });
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(evil.address() as AddressInfo).port}/keys`;
    expect((await ask(await signedBy({ jku: url, x5u: url }))).status).toBe(401);
    expect((await ask(await signedBy({ kid: url }))).status).toBe(401);
    expect(asked).toEqual([]);
    await new Promise((resolve) => evil.close(resolve));
  });

  test('web pages may not use a token either', async () => {
    const headers = { authorization: `Bearer ${await admin()}`, origin: 'https://evil.example.com' };
    const answer = await callTls(address(), 'POST', '/1.0/profiles', { name: 'p1' }, { headers });
    expect([answer.status, answer.metadata.message]).toEqual([403, expect.stringMatching(/comes from a web page/)]);
  });

  test('a websocket with a bad token is refused', async () => {
    const headers = { authorization: 'Bearer a.b.c' };
    const socket = new WebSocket(`wss://${address()}/1.0/events`, { headers, rejectUnauthorized: false });
    socket.on('error', () => {});
    const status = await new Promise((resolve) =>
      socket.once('unexpected-response', (_r, answer) => resolve(answer.statusCode)),
    );
    expect(status).toBe(401);
    socket.terminate();
  });

  test.each([
    ['oidc.issuer', 'http://example.com'],
    ['oidc.issuer', 'https://a?b=c'],
    ['oidc.issuer', 'ldap://x'],
    ['oidc.groups.trusted', 'a,,b'],
    ['oidc.groups.projects.', 'a'],
    ['oidc.groups', 'a'],
  ])('%s = %s is refused', async (key, value) => {
    expect((await daemon.call('PATCH', '/1.0', { config: { [key]: value } })).status).toBe(400);
  });

  test('many refused tokens leave few lines in the log', async () => {
    for (let n = 0; n < 60; n++) await ask('a.b.c');
    const lines = daemon.logged.filter((line) => line.includes('was refused'));
    expect(lines.length).toBeLessThanOrEqual(40);
    expect(lines.some((line) => line.includes('further ones of this minute are not logged'))).toBe(true);
  });
});
