// One-time tokens that add a certificate: valid for one use by one client, even when many try at once; guesses are slowed down.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { decodeTrustToken, encodeTrustToken, type TrustToken } from '../../../server/api/server/trust-token.ts';
import { EventHub } from '../../../server/events/hub.ts';
import { systemClock } from '../../../server/lib/clock.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Operations } from '../../../server/operations/manager.ts';
import { Records } from '../../../server/records/records.ts';
import { TrustTokens } from '../../../server/services/server/trust-tokens.ts';
import type { Caller } from '../../../server/services/shared/caller.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import { makeDaemon, withDaemon, type Json, type TestDaemon } from '../../support/daemons/daemon.ts';
import { callTls, makeClient, type ClientCertificate } from '../../support/daemons/tls.ts';
import { until } from '../../support/until.ts';

describe('the text of a token', () => {
  const token: TrustToken = { client_name: 'Zoë', fingerprint: 'ab', addresses: ['10.0.0.1:8443'], secret: 's' };
  test('is base64 of JSON, and reads back', () => {
    const text = encodeTrustToken(token);
    expect(JSON.parse(Buffer.from(text, 'base64').toString())).toEqual(token);
    expect(decodeTrustToken(` ${text}\n`)).toEqual(token);
  });
  test.each([
    ['a password', 'open sesame'],
    ['nothing', ''],
    ['base64 of other text', btoa('hello')],
    ['JSON without a secret', btoa(JSON.stringify({ ...token, client_name: 'a', secret: undefined }))],
    ['JSON of other types', btoa(JSON.stringify({ ...token, client_name: 'a', addresses: 'x' }))],
    ['a list', btoa('[]')],
    ['a huge text', 'A'.repeat(100_000)],
  ])('is not %s', (_name, text) => {
    expect(decodeTrustToken(text)).toBeUndefined();
  });
});

describe('tokens', () => {
  const caller = { project: 'default' } as Caller;
  async function opened() {
    const records = await Records.open(openMemoryStore());
    const events = new EventHub(systemClock());
    const clock = { now: 0, nowMs: () => clock.now, timestamp: () => new Date(clock.now).toISOString() };
    const operations = new Operations({ clock, events, log: silentLog });
    const tokens = new TrustTokens({ records, operations, clock, serverFingerprint: () => 'ab' });
    const make = () => tokens.make(caller, { type: 'client', name: 'a', token: true }, ['a:1']);
    const secretOf = async (): Promise<string> => String((await make()).metadata?.['secret']);
    return { records, tokens, clock, make, secretOf, operations };
  }

  test('are there again when the transaction that uses them fails, and are used once', async () => {
    const { records, tokens, secretOf } = await opened();
    const secret = await secretOf();
    const use = (fails: boolean) =>
      records.retry((changes) => {
        const grants = tokens.spend(changes, secret);
        if (fails) throw new Error('no');
        return grants;
      });
    await expect(use(true)).rejects.toThrow('no');
    expect(tokens.nameOf(secret)).toBe('a');
    const uses = await Promise.all(Array.from({ length: 20 }, () => use(false)));
    expect(uses.filter((grants) => grants !== undefined)).toHaveLength(1);
    expect(tokens.nameOf(secret)).toBeUndefined();
  });

  test('count no more once they have expired, and their secrets are not stored', async () => {
    const { records, tokens, clock, secretOf } = await opened();
    await records.retry((changes) =>
      changes.put('server', 'config', { v: 1, config: { 'core.remote_token_expiry': '1M' } }),
    );
    const secret = await secretOf();
    expect(JSON.stringify(records.trustTokens.list())).not.toContain(secret);
    clock.now = 59_999;
    expect(tokens.nameOf(secret)).toBe('a');
    clock.now = 60_000;
    expect(tokens.nameOf(secret)).toBeUndefined();
  });

  test('are withdrawn at the next start of a daemon that was killed, and those of other members stay', async () => {
    const { records, tokens, secretOf } = await opened();
    const secret = await secretOf();
    await records.retry((changes) => changes.put('trustTokens', 'of-another', { v: 1, name: 'b', member: 7 }));
    await tokens.withdrawLeft();
    expect(tokens.nameOf(secret)).toBeUndefined();
    expect(records.trustTokens.list().map(({ name }) => name)).toEqual(['of-another']);
  });

  test('are limited in number', async () => {
    const { make, operations } = await opened();
    for (let made = 0; made < 1000; made += 1) await make();
    await expect(make()).rejects.toThrow(/Too many tokens wait to be used/);
    await operations.close(5_000);
  });
});

describe('over the API', () => {
  let daemon: TestDaemon;
  beforeEach(async () => (daemon = await makeDaemon({ https: '127.0.0.1:0', lxd: { https: '127.0.0.1:0' } })));
  afterEach(() => daemon.cleanUp());
  const clients: ClientCertificate[] = [];
  beforeAll(async () => {
    clients.push(...(await Promise.all(Array.from({ length: 6 }, (_none, at) => makeClient(`client ${at}`)))));
  });
  afterAll(() => clients.splice(0));

  const address = (): string => daemon.daemon.httpsAddress() ?? '';
  async function made(more: object = {}): Promise<{ operation: Json; token: string }> {
    const answer = await daemon.call('POST', '/1.0/certificates', {
      type: 'client',
      name: 'new',
      token: true,
      ...more,
    });
    expect([answer.status, answer.metadata?.class]).toEqual([202, 'token']);
    const { secret, fingerprint, addresses, request, expiresAt } = answer.metadata.metadata;
    const expiry = expiresAt === undefined ? {} : { expires_at: expiresAt };
    const token = encodeTrustToken({ client_name: request.name, secret, fingerprint, addresses, ...expiry });
    return { operation: answer.metadata, token };
  }
  const join = (client: ClientCertificate | undefined, password: string, more: object = {}) =>
    callTls(address(), 'POST', '/1.0/certificates', { type: 'client', password, ...more }, { client });
  const authOf = async (client: ClientCertificate): Promise<string> =>
    (await callTls(address(), 'GET', '/1.0', undefined, { client })).metadata.auth;

  test('a token has the addresses and fingerprint of the server, and adds the certificate of the connection under its name', async () => {
    const { operation, token } = await made();
    expect(operation).toMatchObject({ status: 'Running', may_cancel: true, metadata: { addresses: [address()] } });
    expect(operation.metadata.request).toMatchObject({ name: 'new', type: 'client', token: true });
    const server = await daemon.get('/1.0');
    expect(operation.metadata.fingerprint).toBe(server.environment.certificate_fingerprint);
    const [client] = clients;
    expect((await join(client, token, { name: 'chosen by the client' })).status).toBe(200);
    expect(await daemon.get('/1.0/certificates?recursion=1')).toMatchObject([
      { name: 'new', fingerprint: client?.fingerprint },
    ]);
    await until(
      async () => (await daemon.call('GET', `/1.0/operations/${operation.id}`)).metadata?.status !== 'Running',
    );
    expect(daemon.logged.join('\n')).toMatch(/info: A client at 127.0.0.1 used a token/);
  });

  test('exactly one of many clients that use one token at once is trusted', async () => {
    const { token } = await made();
    // The first attempts are not delayed.
    const answers = await Promise.all(clients.map((client) => join(client, token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await daemon.get('/1.0/certificates')) as string[]).toHaveLength(1);
    for (const { status, metadata } of answers.filter((answer) => answer.status !== 200)) {
      expect(status).toBe(403);
      expect(metadata.message).toMatch(/the token is not valid|too many attempts/);
    }
  });

  test('a used, withdrawn or forged token is refused with a reason, and the log has it', async () => {
    const used = await made();
    expect((await join(clients[0], used.token)).status).toBe(200);
    expect((await join(clients[1], used.token)).metadata.message).toMatch(/the token is not valid: it was used/);
    const withdrawn = await made();
    expect((await daemon.call('DELETE', `/1.0/operations/${withdrawn.operation.id}`)).status).toBeLessThan(300);
    expect((await join(clients[1], withdrawn.token)).status).toBe(403);
    const forged = encodeTrustToken({
      client_name: 'new',
      fingerprint: 'ab',
      addresses: [address()],
      secret: 'f'.repeat(64),
    });
    expect((await join(clients[1], forged)).status).toBe(403);
    expect(await authOf(clients[1] as ClientCertificate)).toBe('untrusted');
    const lines = daemon.logged.filter((line) => line.includes('sent an invalid token'));
    expect(lines).toHaveLength(3);
    expect(daemon.logged.join('\n')).not.toContain('f'.repeat(64));
  });

  test('guesses of one address are delayed and then refused', async () => {
    const guess = () =>
      encodeTrustToken({ client_name: 'n', fingerprint: 'a', addresses: ['a'], secret: String(Math.PI) });
    const answers = await Promise.all(Array.from({ length: 12 }, () => join(clients[0], guess())));
    expect(answers.every(({ status }) => status === 403)).toBe(true);
    expect(answers.some(({ metadata }) => /too many attempts, try again in \d+ s/.test(metadata.message))).toBe(true);
  });

  test('a token needs the certificate of the connection: none, or another one in the body, is refused, and the token stays valid', async () => {
    const { token } = await made();
    expect((await join(undefined, token)).status).toBe(403);
    const other = clients[1]?.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    const answer = await join(clients[0], token, { certificate: other });
    expect([answer.status, answer.metadata.message]).toEqual([
      400,
      expect.stringMatching(/must be that of the connection/),
    ]);
    expect((await join(clients[0], token)).status).toBe(200);
  });

  test('core.remote_token_expiry limits its life', async () => {
    expect((await daemon.call('PATCH', '/1.0', { config: { 'core.remote_token_expiry': 'soon' } })).status).toBe(400);
    expect((await daemon.call('PATCH', '/1.0', { config: { 'core.remote_token_expiry': '2H' } })).status).toBe(200);
    const { operation } = await made();
    const life = Date.parse(operation.metadata.expiresAt) - Date.now();
    expect(Math.round(life / 60_000)).toBe(120);
  });

  test('only trusted callers make tokens, and invalid requests are refused', async () => {
    const body = { type: 'client', name: 'x', token: true };
    expect((await callTls(address(), 'POST', '/1.0/certificates', body, { client: clients[0] })).status).toBe(403);
    const wrong = await daemon.call('POST', '/1.0/certificates', { type: 'server', token: true, certificate: 'x' });
    expect(wrong.metadata.details.map(({ path }: Json) => path)).toEqual(['type', 'name', 'certificate']);
    const lost = await daemon.call('POST', '/1.0/certificates', { ...body, restricted: true, projects: ['nowhere'] });
    expect([lost.status, lost.metadata.message]).toEqual([400, expect.stringMatching(/there is no project "nowhere"/)]);
  });

  test('a restricted token grants neither full trust nor a view of other tokens', async () => {
    const { token } = await made({ restricted: true, projects: ['default'] });
    expect((await join(clients[0], token, { restricted: false, projects: [] })).status).toBe(200);
    const { operation } = await made();
    const ask = async (path: string, method = 'GET', body?: object) =>
      callTls(address(), method, path, body, { client: clients[0] });
    expect((await ask('/1.0/containers')).status).toBe(200);
    expect((await ask('/1.0', 'PATCH', { config: {} })).status).toBe(403);
    expect((await ask('/1.0/certificates', 'POST', { type: 'client', name: 'x', token: true })).status).toBe(403);
    expect((await ask('/1.0/operations')).metadata).toEqual([]);
    expect((await ask(`/1.0/operations/${operation.id}`)).status).toBe(404);
  });

  test('a token grants no project that was deleted since, and none that gets its name later', async () => {
    await daemon.call('POST', '/1.0/projects', { name: 'p' });
    const { token } = await made({ restricted: true, projects: ['default', 'p'] });
    await daemon.call('DELETE', '/1.0/projects/p');
    expect((await join(clients[0], token)).status).toBe(200);
    await daemon.call('POST', '/1.0/projects', { name: 'p' });
    const asked = (project: string) =>
      callTls(address(), 'GET', `/1.0/containers?project=${project}`, undefined, { client: clients[0] });
    expect([(await asked('default')).status, (await asked('p')).status]).toEqual([200, 404]);
  });

  test('a token grants no project that was deleted, or renamed, and made again before the token is used', async () => {
    for (const name of ['p', 'q', 'r']) await daemon.call('POST', '/1.0/projects', { name });
    const { token } = await made({ restricted: true, projects: ['default', 'p', 'q', 'r'] });
    await daemon.call('DELETE', '/1.0/projects/p');
    await daemon.ok('POST', '/1.0/projects/q', { name: 'q2' });
    for (const name of ['p', 'q']) await daemon.call('POST', '/1.0/projects', { name });
    await daemon.call('PATCH', '/1.0/projects/r', { description: 'still the same' });
    expect((await join(clients[0], token)).status).toBe(200);
    const asked = async (project: string) =>
      (await callTls(address(), 'GET', `/1.0/containers?project=${project}`, undefined, { client: clients[0] })).status;
    expect(await Promise.all(['default', 'p', 'q', 'r'].map(asked))).toEqual([200, 404, 404, 200]);
  });

  test('tokens do not survive the daemon', async () => {
    const { token } = await made();
    await daemon.restart();
    expect((await join(clients[0], token)).status).toBe(403);
  });
});

test('a server without a network address makes no token, and one for clients of LXD alone makes those of Gantry, too', async () => {
  const body = { type: 'client', name: 'x', token: true };
  await withDaemon({}, async (deaf) => {
    const { status, metadata } = await deaf.call('POST', '/1.0/certificates', body);
    expect([status, metadata.message]).toEqual([400, expect.stringMatching(/no network address.*core\.https_address/)]);
  });
  await withDaemon({ lxd: { https: '127.0.0.1:0' } }, async (other) => {
    const { status, metadata } = await other.call('POST', '/1.0/certificates', body);
    expect([status, metadata.metadata.addresses]).toEqual([202, [other.daemon.lxdHttpsAddress()]]);
  });
});
