// Secrets of Vault: both versions of KV, every login, tokens that end, and what Vault refuses, against a stand-in.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { VaultError } from '../../../reconciler/manifest/secrets/vault-http.ts';
import { VaultSecrets } from '../../../reconciler/manifest/secrets/vault-secrets.ts';
import type { VaultLogin, VaultSettings } from '../../../reconciler/manifest/secrets/vault-session.ts';
import { resolveSecrets } from '../../../reconciler/manifest/variables/secret-references.ts';
import { cli } from '../../support/cli/io.ts';
import { FakeVault, type FakeVaultOptions } from '../../support/controller/vault.ts';
import { startConnectProxy } from '../../support/daemons/connect-proxy.ts';
import { makePair } from '../../support/daemons/tls.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let folder = '';
let vault: FakeVault;
let nowMs = 1_800_000_000_000;
const opened: VaultSecrets[] = [];

async function start(options: FakeVaultOptions = {}): Promise<void> {
  vault = await FakeVault.start({ nowMs: () => nowMs, ...options });
  vault.write('kv/shop/db', { password: 'first', port: 5432, tls: true, 'a.b': 'dotted', inner: { key: 'deep' } });
  vault.write('old/shop/db', { password: 'of version 1' });
  vault.write('kv/other/db', { password: 'of others' });
}
beforeEach(() => void (folder = tempFolder('gantry-vault-')));
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
  await vault.close();
});

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const secrets = (login: VaultLogin = { method: 'token', token: vault.token() }, more: Partial<VaultSettings> = {}) => {
  const made = new VaultSecrets({ address: vault.address, login, ...more }, () => nowMs);
  opened.push(made);
  return made;
};
const read = (from: VaultSecrets, reference = 'kv/shop/db#password'): Promise<string> =>
  from.reading().read(reference, undefined);
const appRole = (uses = 10): VaultLogin => {
  vault.secretIds.set('sid', uses);
  return { method: 'appRole', mount: 'approle', roleId: vault.roleId, secretIdFile: file('sid', 'sid\n') };
};

describe('a secret of Vault', () => {
  test('is read from both versions of KV, by field, also an older version', async () => {
    await start();
    vault.write('kv/shop/db', { password: 'second' });
    const from = secrets();
    expect(await read(from)).toBe('second');
    expect(await read(from, 'kv/shop/db?version=1#password')).toBe('first');
    for (const [field, value] of Object.entries({ port: '5432', tls: 'true', 'a.b': 'dotted', 'inner.key': 'deep' }))
      expect(await read(from, `kv/shop/db?version=1#${field}`)).toBe(value);
    expect(await read(from, 'old/shop/db#password')).toBe('of version 1');
  });

  test('is asked for once in a load, and a rotated one is seen by the next', async () => {
    await start();
    const from = secrets();
    const { read: once, seen } = from.reading();
    for (let times = 0; times < 5; times += 1) await once('kv/shop/db#password', undefined);
    await once('kv/shop/db#port', undefined);
    expect(vault.counts.reads).toBe(1);
    const { signal } = new AbortController();
    expect(await from.differs(seen, signal)).toBe(false);
    vault.write('kv/shop/db', { password: 'rotated', port: 5432 });
    expect(await from.differs(seen, signal)).toBe(true);
  });

  test('is refused where it cannot be had, with what to do, and no message has a token', async () => {
    await start();
    vault.write('kv/shop/gone', { a: 'b' });
    vault.write('kv/shop/burnt', { a: 'b' });
    vault.end('kv/shop/gone', 'deleted');
    vault.end('kv/shop/burnt', 'destroyed');
    const from = secrets();
    const why = (reference: string): Promise<string> =>
      read(from, reference).then(
        () => 'read',
        (error: unknown) => (error instanceof VaultError ? error.message : `no VaultError: ${String(error)}`),
      );
    expect(await why('kv/other/db#password')).toContain('its policy needs read on kv/data/other/db');
    expect(await why('none/shop/db#password')).toContain('there is no such mount');
    expect(await why('database/creds/shop#password')).toContain('of type database: only kv can be read');
    expect(await why('kv/shop/nothing#a')).toBe('there is no kv/shop/nothing');
    expect(await why('kv/shop/gone#a')).toContain('version 1 of kv/shop/gone is deleted');
    expect(await why('kv/shop/burnt#a')).toBe('version 1 of kv/shop/burnt is destroyed');
    expect(await why('kv/shop/db#user')).toBe('kv/shop/db has no field user');
    expect(await why('kv/shop/db#inner')).toContain('is no single value');
    expect(await why('old/shop/db?version=1#password')).toContain('KV version 1, which has no versions');
    for (const bad of ['kv#a', 'kv/shop/db', '/kv/shop#a', 'kv/../sys#a', 'kv/shop/db?version=0#a', 'kv//x#a'])
      expect(await why(bad), bad).toContain('a secret of Vault is named MOUNT/PATH#FIELD');
    const unknown = secrets({ method: 'token', token: 'hvs.unknown' });
    const message = await read(unknown).catch((error: unknown) => String(error));
    expect(message).toContain('403');
    expect(message).not.toContain('hvs.');
  });
});

describe('a login', () => {
  test.each(['approle', 'jwt', 'kubernetes'])('%s gives a token, which ends with its reader', async (method) => {
    await start();
    vault.jwts.add('a.b.c');
    const jwt = { method: 'jwt', role: 'shop', file: file('jwt', 'a.b.c\n'), mount: method } as const;
    const from = secrets(method === 'approle' ? appRole() : jwt);
    expect(await read(from)).toBe('first');
    expect(vault.living).toHaveLength(1);
    await from.close();
    expect(vault.living).toEqual([]);
  });

  test('a token is renewed before it ends, and replaced by a new login when it lives no longer', async () => {
    await start({ ttlS: 60, maxTtlS: 150 });
    const from = secrets(appRole());
    await Promise.all(Array.from({ length: 8 }, () => read(from)));
    expect(vault.counts).toMatchObject({ logins: 1, renewals: 0 });
    for (let step = 0; step < 8; step += 1) {
      nowMs += 45_000;
      expect(await read(from)).toBe('first');
    }
    expect(vault.counts.renewals).toBeGreaterThan(2);
    expect(vault.counts.logins).toBeGreaterThan(1);
    expect(vault.counts.logins).toBeLessThan(5);
  });

  test('a revoked token is replaced once, and a path without a policy uses up no secret ids', async () => {
    await start();
    const from = secrets(appRole(2));
    expect(await read(from)).toBe('first');
    for (let times = 0; times < 5; times += 1) await expect(read(from, 'kv/other/db#a')).rejects.toThrow('its policy');
    expect(vault.counts.logins).toBe(1);
    nowMs += 10_000;
    vault.revokeAll();
    expect(await read(from)).toBe('first');
    expect(vault.counts.logins).toBe(2);
    nowMs += 10_000;
    vault.revokeAll();
    await expect(read(from)).rejects.toThrow('refuses the login at auth/approle (400: invalid role or secret ID)');
  });

  test('a token of a file is renewed, read again when an agent has replaced it, and not ended', async () => {
    await start({ ttlS: 60 });
    const path = file('token', vault.token());
    const from = secrets({ method: 'tokenFile', file: path });
    expect(await read(from)).toBe('first');
    nowMs += 45_000;
    expect(await read(from)).toBe('first');
    expect(vault.counts.renewals).toBe(1);
    nowMs += 10_000;
    vault.revokeAll();
    writeFileSync(path, `${vault.token()}\n`);
    expect(await read(from)).toBe('first');
    await from.close();
    expect(vault.living).toHaveLength(1);
  });

  test('is made in a namespace', async () => {
    await start({ namespace: 'team/a' });
    const login = appRole();
    expect(await read(secrets(login, { namespace: 'team/a' }))).toBe('first');
    await expect(read(secrets(login))).rejects.toThrow('refuses the login');
  });
});

describe('a server', () => {
  test('is spoken to over TLS with the authority that was named, and with no other', async () => {
    const { certPem: cert, keyPem: key } = await makePair('vault', { usage: 'server', subjectAltNames: ['127.0.0.1'] });
    await start({ tls: { cert, key } });
    const caFile = file('ca.pem', cert);
    expect(await read(secrets(undefined, { caFile }))).toBe('first');
    await expect(read(secrets())).rejects.toThrow('cannot be reached');
    for (const address of ['http://vault.example.org:8200', 'vault', 'https://me:pw@vault.example.org'])
      expect(() => secrets(undefined, { address }), address).toThrow('the address of Vault must');
  });

  test('goes through the proxy of HTTPS_PROXY, except for hosts of NO_PROXY', async () => {
    const { certPem, keyPem } = await makePair('vault.test', { usage: 'server', subjectAltNames: ['vault.test'] });
    await start({ tls: { cert: certPem, key: keyPem } });
    const proxy = await startConnectProxy();
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await proxy.close();
    });
    vi.stubEnv('HTTPS_PROXY', proxy.address);
    const address = vault.address.replace('127.0.0.1', 'vault.test');
    const caFile = file('ca.pem', certPem);
    expect(await read(secrets(undefined, { address, caFile }))).toBe('first');
    expect(new Set(proxy.targets)).toEqual(new Set([new URL(address).host]));
    const before = proxy.targets.length;
    vi.stubEnv('NO_PROXY', '.test');
    await expect(read(secrets(undefined, { address, caFile }))).rejects.toThrow(/vault.test:\d+ cannot be reached/);
    expect(proxy.targets.length).toBe(before);
  });

  test('is waited for while it is sealed for a moment or stands by', async () => {
    await start();
    vault.isSealed = true;
    setTimeout(() => (vault.isSealed = false), 400);
    expect(await read(secrets())).toBe('first');
    const standby = await FakeVault.start();
    standby.activeAddress = vault.address;
    expect(await read(secrets(undefined, { address: standby.address }))).toBe('first');
    standby.activeAddress = 'http://vault.example.org:8200';
    await expect(read(secrets(undefined, { address: standby.address }))).rejects.toThrow(
      'redirects to an address that cannot be used: http://vault.example.org:8200',
    );
    await standby.close();
    vault.isSealed = true;
    await expect(read(secrets())).rejects.toThrow('answers 503: Vault is sealed');
  });
});

test('from_vault takes the server and the token from the environment, and plans show no value', async () => {
  await start();
  const main = file(
    'main.yaml',
    'kind: profile\nname: web\nconfig: { user.pw: { from_vault: "kv/shop/db#password" } }\n',
  );
  const env = { HOME: folder, VAULT_ADDR: vault.address, VAULT_TOKEN: vault.token() };
  expect(await cli(['validate', '-f', main], { env: {} })).toMatchObject({ code: 0 });
  const { loadManifests } = await import('../../../reconciler/manifest/load.ts');
  const loaded = await loadManifests({ paths: [main], env });
  expect(loaded.diagnostics).toEqual([]);
  expect(loaded.documents[0]?.values['config']).toEqual({ 'user.pw': 'first' });
  expect(loaded.documents[0]?.secrets).toEqual(['config.user.pw']);
  expect(JSON.stringify(loaded.written)).not.toContain('first');
  file('.vault-token', `${vault.token()}\n`);
  const home = await loadManifests({ paths: [main], env: { HOME: folder, VAULT_ADDR: vault.address } });
  expect(home.diagnostics).toEqual([]);
  const none = await loadManifests({ paths: [main], env: { HOME: folder } });
  expect(none.diagnostics[0]?.message).toBe('from_vault: the environment has no VAULT_ADDR');
  const { findings } = await resolveSecrets({ a: { from_vault: 'kv/x#y' } }, { folder, env }, true);
  expect(findings[0]?.message).toBe('from_vault: nobody said where Vault is');
});
