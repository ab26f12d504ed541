// A certificate authority in the state directory lets only its clients connect over TLS, on the listeners of both dialects.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { readPki } from '../../../server/auth/pki.ts';
import { DiagnosticError } from '../../../provider/framework/diagnostic.ts';
import { makeAuthority, type Authority } from '../../support/daemons/authority.ts';
import {
  createContainer,
  makeDaemon,
  seed,
  setState,
  type TestDaemon,
  type TestDaemonOptions,
} from '../../support/daemons/daemon.ts';
import { useDaemon } from '../../support/daemons/emptied.ts';
import { callTls, makeClient, type ClientCertificate } from '../../support/daemons/tls.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const root = makeAuthority('Fleet');
const other = makeAuthority('Fleet');
let dir = '';
let own: TestDaemon | undefined;
let daemon: TestDaemon | undefined;

afterAll(() => {
  root.remove();
  other.remove();
});
afterEach(async () => {
  await own?.cleanUp();
  own = daemon = undefined;
  if (dir !== '') rmSync(dir, { recursive: true, force: true });
});

const listening: TestDaemonOptions = { https: '127.0.0.1:0', lxd: { https: '127.0.0.1:0' } };

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = tempFolder('gtpk-');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

async function start(files: Readonly<Record<string, string>>): Promise<TestDaemon> {
  dir = folderOf(files);
  daemon = own = await makeDaemon({ dir, ...listening });
  return own;
}

/** The status of GET /1.0/containers there, or `turned away`. */
async function asked(address: string | undefined, client?: ClientCertificate): Promise<number | 'turned away'> {
  try {
    return (await callTls(address ?? '', 'GET', '/1.0/containers', undefined, { client })).status;
  } catch {
    return 'turned away';
  }
}

const both = async (client?: ClientCertificate) => [
  await asked(daemon?.daemon.httpsAddress(), client),
  await asked(daemon?.daemon.lxdHttpsAddress(), client),
];

describe('server.ca', () => {
  let made: TestDaemon;
  useDaemon((given) => void (daemon = made = given), { dir: folderOf({ 'server.ca': root.certPem }), ...listening });

  test('lets its clients connect, who still need trust, and turns all others away, on both listeners', async () => {
    const mine = root.sign('ann');
    expect(await both(mine)).toEqual([403, 403]);
    expect(await both(await makeClient())).toEqual(['turned away', 'turned away']);
    expect(await both(other.sign('ann'))).toEqual(['turned away', 'turned away']);
    expect(made.logged.join('\n')).toMatch(/warning: A client at 127.0.0.1 was turned away: server.ca does not vouch/);

    await made.call('PATCH', '/1.0', { config: { 'core.trust_password': 'open sesame' } });
    const address = daemon?.daemon.httpsAddress() ?? '';
    const wrong = await callTls(
      address,
      'POST',
      '/1.0/certificates',
      { type: 'client', password: 'x' },
      { client: mine },
    );
    expect(wrong.status).toBe(403);
    const right = { type: 'client', password: 'open sesame' };
    expect((await callTls(address, 'POST', '/1.0/certificates', right, { client: mine })).status).toBe(200);
    expect(await both(mine)).toEqual([200, 200]);
  });

  test('suffices for trust with core.trust_ca_certificates, on both listeners, until the key is unset', async () => {
    const client = root.intermediate('Team A').sign('ann');
    expect(await both(client)).toEqual([403, 403]);
    const set = (value: string) => made.call('PATCH', '/1.0', { config: { 'core.trust_ca_certificates': value } });
    expect((await set('true')).status).toBe(200);
    expect(await both(client)).toEqual([200, 200]);
    expect(await both(await makeClient())).toEqual(['turned away', 'turned away']);
    const address = made.daemon.httpsAddress() ?? '';
    await seed(made);
    await createContainer(made, 'c1');
    await setState(made, 'c1', 'start');
    const command = { command: ['sleep', '600'], 'record-output': false };
    const started = await callTls(address, 'POST', '/1.0/containers/c1/exec', command, { client });
    const running = `/1.0/operations/${started.metadata.id}`;
    expect((await made.get(running)).status).toBe('Running');
    expect((await set('')).status).toBe(200);
    await until(async () => (await made.get(running)).status !== 'Running');
    expect(await both(client)).toEqual([403, 403]);
  });

  test('core.trust_ca_certificates trusts no client without it, and a certificate restricted to projects stays so with it', async () => {
    const client = root.sign('ann');
    const certificate = client.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    const body = { type: 'client', certificate, restricted: true, projects: ['default'] };
    expect((await made.call('POST', '/1.0/certificates', body)).status).toBe(200);
    await made.call('PATCH', '/1.0', { config: { 'core.trust_ca_certificates': 'true' } });
    const address = made.daemon.httpsAddress() ?? '';
    expect((await callTls(address, 'GET', '/1.0/containers', undefined, { client })).status).toBe(200);
    expect((await callTls(address, 'POST', '/1.0/storage-pools', {}, { client })).status).toBe(403);
    const plain = await start({});
    await plain.call('PATCH', '/1.0', { config: { 'core.trust_ca_certificates': 'true' } });
    expect(await both(root.sign('bob'))).toEqual([403, 403]);
  });

  test('also turns away a trusted certificate that it did not sign', async () => {
    const client = await makeClient();
    const certificate = client.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    expect((await made.call('POST', '/1.0/certificates', { type: 'client', certificate })).status).toBe(200);
    expect(await both(client)).toEqual(['turned away', 'turned away']);
  });

  test('turns away expired certificates, future ones and those of servers', async () => {
    const expired = root.sign('old', { valid: ['20200101000000Z', '20210101000000Z'] });
    const future = root.sign('new', { valid: ['20400101000000Z', '20410101000000Z'] });
    expect(await both(expired)).toEqual(['turned away', 'turned away']);
    expect(await both(future)).toEqual(['turned away', 'turned away']);
    expect(await both(root.sign('web', { usage: 'serverAuth' }))).toEqual(['turned away', 'turned away']);
    expect(daemon?.logged.join('\n')).toMatch(/CERT_HAS_EXPIRED[\s\S]*CERT_NOT_YET_VALID[\s\S]*INVALID_PURPOSE/);
  });

  test('accepts clients of an authority that it signed, when they bring its certificate along', async () => {
    const client = root.intermediate('Team A').sign('bob');
    expect(await both(client)).toEqual([403, 403]);
    const alone = { ...client, certPem: client.certPem.slice(0, client.certPem.indexOf('-----END') + 26) };
    expect(await both(alone)).toEqual(['turned away', 'turned away']);
  });

  test('keeps clients without a certificate untrusted', async () => {
    const answer = await callTls(daemon?.daemon.httpsAddress() ?? '', 'GET', '/1.0');
    expect([answer.status, answer.metadata.auth]).toEqual([200, 'guest']);
    expect(await both()).toEqual([403, 403]);
  });
});

describe('ca.crl', () => {
  test('turns revoked clients away once the file is re-read, and closes their connections', async () => {
    const [revoked, kept] = [root.sign('carl'), root.sign('dora')];
    const test = await start({ 'server.ca': root.certPem, 'ca.crl': root.list() });
    expect([await both(revoked), await both(kept)]).toEqual([
      [403, 403],
      [403, 403],
    ]);
    const [host = '', port] = (test.daemon.httpsAddress() ?? '').split(':');
    const open = [revoked, kept].map(({ certPem, keyPem }) =>
      connectTls({ host, port: Number(port), cert: certPem, key: keyPem, rejectUnauthorized: false }),
    );
    for (const socket of open) socket.on('error', () => {}).resume();
    await Promise.all(open.map((socket) => new Promise((resolve) => socket.once('secureConnect', resolve))));
    root.revoke(revoked);
    writeFileSync(join(dir, 'ca.crl'), root.list());
    await until(() => open[0]?.destroyed === true);
    expect([await both(revoked), await both(kept)]).toEqual([
      ['turned away', 'turned away'],
      [403, 403],
    ]);
    expect(open[1]?.destroyed).toBe(false);
    open[1]?.destroy();
    expect(test.logged.join('\n')).toContain('CERT_REVOKED');
  });

  test('a ca.crl that is damaged or deleted later leaves the former one in force', async () => {
    const revoked = root.sign('eve');
    root.revoke(revoked);
    const { logged } = await start({ 'server.ca': root.certPem, 'ca.crl': root.list() });
    writeFileSync(join(dir, 'ca.crl'), 'broken');
    await until(() => logged.some((line) => /error: .*ca\.crl cannot be used: it has no revocation list/.test(line)));
    rmSync(join(dir, 'ca.crl'));
    await until(() => logged.some((line) => /error: .* is gone: the former one stays in force/.test(line)));
    rmSync(join(dir, 'server.ca'));
    expect(await both(revoked)).toEqual(['turned away', 'turned away']);
    expect(await both(root.sign('fay'))).toEqual([403, 403]);
  });

  test('every authority of the file needs a list: the log names the missing one', async () => {
    const { logged } = await start({ 'server.ca': root.certPem + makeKept().certPem, 'ca.crl': root.list() });
    expect(logged.join('\n')).toMatch(/warning: .*ca\.crl has no list of CN=Second: all its clients are turned away/);
    expect(await both(second?.sign('gil'))).toEqual(['turned away', 'turned away']);
    second?.remove();
  });
});

let second: Authority | undefined;
const makeKept = (): Authority => (second = makeAuthority('Second'));

describe('files that cannot be used keep the daemon from starting', () => {
  const leaf = () => root.sign('leaf').certPem;
  test.each([
    ['an empty server.ca', () => ({ 'server.ca': '' }), /server\.ca cannot be used: it has no certificate/],
    ['a damaged server.ca', () => ({ 'server.ca': root.certPem.replace(/M/g, 'N') }), /server\.ca cannot be used: /],
    [
      'a client in server.ca',
      () => ({ 'server.ca': leaf() }),
      /server\.ca cannot be used: CN=leaf is not the certificate of an authority/,
    ],
    [
      'an authority without its root',
      () => ({ 'server.ca': root.intermediate('Team').certPem }),
      /CN=Team is signed by CN=Fleet, which is not in the file/,
    ],
    [
      'a list without server.ca',
      () => ({ 'ca.crl': root.list() }),
      /ca\.crl lists revoked certificates, but .*server\.ca.* is missing/,
    ],
    [
      'an empty list',
      () => ({ 'server.ca': root.certPem, 'ca.crl': '' }),
      /ca\.crl cannot be used: it has no revocation list/,
    ],
    [
      'a certificate as list',
      () => ({ 'server.ca': root.certPem, 'ca.crl': root.certPem }),
      /ca\.crl cannot be used: it has no revocation list/,
    ],
    [
      'a cut-off list',
      () => ({ 'server.ca': root.certPem, 'ca.crl': '-----BEGIN X509 CRL-----\nMIIB\n-----END X509 CRL-----\n' }),
      /ca\.crl cannot be used: its DER has an impossible length/,
    ],
  ])('%s', async (_name, files, message) => {
    await expect(readPki(folderOf(files()), root, new Date())).rejects.toThrow(message);
  });

  test('the daemon ends with the reason', () =>
    expect(start({ 'server.ca': '' })).rejects.toThrow(/server\.ca cannot be used: it has no certificate/));
});

describe('client.ca beside the client certificate', () => {
  /** Starts a server of the authority `root`, and puts a client of it into a directory with the given client.ca. */
  async function setUp(ca: string): Promise<{ address: string; cert: string; key: string }> {
    const server = root.sign('localhost', { usage: 'serverAuth', names: 'DNS:localhost,IP:127.0.0.1' });
    const pair = { 'server.crt': server.certPem, 'server.key': server.keyPem };
    const made = await start({ 'server.ca': root.certPem, ...pair });
    expect(made.logged.join('\n')).not.toContain('is not signed by');
    const mine = root.sign('ann');
    const certificate = mine.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    expect((await made.call('POST', '/1.0/certificates', { type: 'client', certificate })).status).toBe(200);
    const [cert, key] = [join(dir, 'client.crt'), join(dir, 'client.key')];
    writeFileSync(cert, mine.certPem);
    writeFileSync(key, mine.keyPem);
    writeFileSync(join(dir, 'client.ca'), ca);
    return { address: `https://${daemon?.daemon.httpsAddress()}`, cert, key };
  }
  const cli = async ({ address, cert, key }: Awaited<ReturnType<typeof setUp>>) => {
    const { cli: run } = await import('../../support/cli/io.ts');
    return run(['get', 'profiles', '--host', address, '--client-cert', cert, '--client-key', key]);
  };
  const provider = async ({ address, cert, key }: Awaited<ReturnType<typeof setUp>>): Promise<string> => {
    const { openLink } = await import('../../../provider/connection/connect.ts');
    const { readSettings, settingsAttributes } = await import('../../../provider/connection/settings.ts');
    const none = Object.fromEntries(Object.keys(settingsAttributes).map((name) => [name, null]));
    const given = { ...none, address, client_certificate_file: cert, client_key_file: key };
    const read = readSettings(given as Parameters<typeof readSettings>[0], {});
    try {
      const link = await openLink(read, new Map(), AbortSignal.timeout(20_000));
      await link.close();
      return link.client.server.auth;
    } catch (error) {
      return JSON.stringify(error instanceof DiagnosticError ? error.diagnostics : String(error));
    }
  };

  test('checks the certificate of the server, for the command line and for the provider', async () => {
    const place = await setUp(root.certPem);
    expect(await cli(place)).toMatchObject({ code: 0 });
    expect(await provider(place)).toBe('trusted');
  });

  test('client.ca beside the client certificate of another authority with the same name refuses the server', async () => {
    const place = await setUp(other.certPem);
    const ran = await cli(place);
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).toMatch(/certificate/);
    expect(await provider(place)).toMatch(/certificate/);
  });

  test('client.ca beside the client certificate without a certificate in it is an error that names the file', async () => {
    const place = await setUp('empty');
    expect((await cli(place)).stderr).toMatch(/client\.ca .*contains no PEM certificate/);
    expect(await provider(place)).toMatch(/client\.ca holds no certificate/);
  });
});
