// `gantry login` by device flow, the commands that use it, its renewal and its end.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cli } from '../../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { audience, startIssuer, type TestIssuer } from '../../../support/daemons/issuer.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let daemon: TestDaemon;
let issuer: TestIssuer;
let home = '';
let host = '';
let pin = '';
beforeAll(async () => {
  issuer = await startIssuer('ES256');
  daemon = await makeDaemon({ https: '127.0.0.1:0' });
  host = `https://${daemon.daemon.httpsAddress()}`;
  pin = (await daemon.get('/1.0')).environment.certificate_fingerprint;
});
beforeEach(async () => {
  home = tempFolder('gtlg-');
  issuer.claims = { groups: ['ops'], email: 'ann@example.com' };
  issuer.decision = 'pending';
  issuer.lifeS = 300;
  const config = { 'oidc.issuer': issuer.url, 'oidc.client.id': audience, 'oidc.groups.trusted': 'ops' };
  expect((await daemon.call('PATCH', '/1.0', { config })).status).toBe(200);
});
afterAll(async () => {
  await daemon.cleanUp();
  await issuer.close();
});

const env = () => ({ XDG_CONFIG_HOME: home });
/** The user decides once the code is shown. */
const logIn = (decision: 'allow' | 'deny' = 'allow') =>
  cli(['login', host, '--server-cert', pin], {
    env: env(),
    onStderr: (text) => {
      if (text.includes('WDJB-MJHT')) issuer.decision = decision;
    },
  });
const run = (...words: string[]) => cli([...words, '--host', host], { env: env() });
const file = (): string => join(home, 'gantry', 'logins', readdirSync(join(home, 'gantry', 'logins'))[0] ?? '');

describe('gantry login', () => {
  test('shows address and code, waits for the user, and stores the tokens readable only by the user', async () => {
    const done = await logIn();
    expect(done).toMatchObject({ code: 0, stdout: `Logged in at ${host}\n` });
    expect(done.stderr).toContain(`Open ${issuer.url}/verify and enter the code WDJB-MJHT`);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, 'gantry', 'logins')).mode & 0o777).toBe(0o700);
    expect(await run('get', 'profiles')).toMatchObject({ code: 0, stdout: expect.stringContaining('default') });
  });

  test('is used by apply, which follows operations, and by events', async () => {
    await logIn();
    const manifest = join(home, 'm.yaml');
    writeFileSync(manifest, 'kind: profile\nname: web\nconfig: { limits.memory: 64MiB }\n');
    expect(await run('apply', '-f', manifest, '--yes')).toMatchObject({ code: 0 });
    expect((await run('get', 'profiles', '-o', 'name')).stdout).toContain('web');
    const client = (await import('../../../../server/client/client.ts')).createClient(host, {
      tls: { serverCertificate: pin },
      bearer: { current: () => token, fresh: () => Promise.resolve(token) },
    });
    const token = (JSON.parse(readFileSync(file(), 'utf8')) as { access_token: string }).access_token;
    const stop = new AbortController();
    const events = client.events(['lifecycle'], stop.signal)[Symbol.asyncIterator]();
    const next = events.next();
    const poke = setInterval(
      () => void daemon.call('PATCH', '/1.0', { config: { 'user.x': String(Math.random()) } }),
      200,
    );
    expect((await next).value).toMatchObject({ type: 'lifecycle' });
    clearInterval(poke);
    stop.abort();
    await client.close();
  });

  test('is renewed shortly before it expires, and a failure is reported', async () => {
    issuer.lifeS = 20;
    await logIn();
    const before = readFileSync(file(), 'utf8');
    expect((await run('get', 'profiles')).code).toBe(0);
    expect(readFileSync(file(), 'utf8')).not.toBe(before);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    const { refresh_token: _used, ...rest } = JSON.parse(before) as Record<string, unknown>;
    writeFileSync(file(), JSON.stringify({ ...rest, refresh_token: 'stolen' }));
    const failed = await run('get', 'profiles');
    expect(failed).toMatchObject({
      code: 7,
      stderr: expect.stringMatching(/cannot be renewed .*invalid_grant.*gantry login https/s),
    });
  });

  test('is renewed once by commands that run at once, since the issuer takes a token for it only once', async () => {
    issuer.lifeS = 20;
    await logIn();
    const runs = await Promise.all([1, 2, 3, 4].map(() => run('get', 'profiles')));
    expect(runs.map(({ stderr }) => stderr)).toEqual(['', '', '', '']);
  });

  test('reports an untrusted user, a refusal by the user, and a server without an issuer', async () => {
    issuer.claims = { groups: ['others'] };
    expect((await logIn()).stderr).toContain('does not trust this user');
    expect((await run('get', 'profiles')).code).toBe(7);
    issuer.decision = 'pending';
    expect(await logIn('deny')).toMatchObject({ code: 1, stderr: expect.stringContaining('access_denied') });
    await daemon.call('PATCH', '/1.0', { config: { 'oidc.issuer': '' } });
    expect(await logIn()).toMatchObject({ code: 1, stderr: expect.stringContaining('no issuer to log in at') });
    expect(await cli(['login', 'unix:///x'], { env: env() })).toMatchObject({ code: 64 });
  });

  test('sends its token only to the server that was named at the login', async () => {
    await logIn();
    const stored = JSON.parse(readFileSync(file(), 'utf8')) as Record<string, unknown>;
    writeFileSync(file(), JSON.stringify({ ...stored, server_cert: 'a'.repeat(64) }));
    expect(await run('get', 'profiles')).toMatchObject({
      code: 7,
      stderr: expect.stringMatching(/certificate|fingerprint/),
    });
  });

  test('ends with logout', async () => {
    await logIn();
    expect(await cli(['logout', host], { env: env() })).toMatchObject({ code: 0, stdout: `Logged out of ${host}\n` });
    expect((await run('get', 'profiles')).code).toBe(7);
    expect((await cli(['logout', host], { env: env() })).stdout).toContain('There is no login');
  });
});
