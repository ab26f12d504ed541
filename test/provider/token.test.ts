// The token of the provider: its file, its expiry, its server, and the settings that it excludes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSettings, settingsAttributes, settingsProblems } from '../../provider/connection/settings.ts';
import type { ReadSettings, Settings } from '../../provider/connection/settings.ts';
import { tokenOf } from '../../provider/connection/token.ts';
import { encodeTrustToken } from '../../server/api/server/trust-token.ts';
import { tempFolder } from '../support/temp-folder.ts';

const dir = tempFolder('gttk-');
const file = join(dir, 'token');
const address = 'https://web1:8443';

const settingsOf = (given: Partial<Settings>): Settings => ({
  ...(Object.fromEntries(Object.keys(settingsAttributes).map((name) => [name, null])) as unknown as Settings),
  address,
  ...given,
});
const read = (given: Partial<Settings>, env: Record<string, string> = {}): ReadSettings =>
  readSettings(settingsOf(given), env);
const problems = (given: Partial<Settings>): readonly string[] =>
  settingsProblems(read(given)).map(({ summary }) => summary);
const login = (token: string, endsAt: number, host = address): void =>
  writeFileSync(file, JSON.stringify({ host, access_token: token, expires_at: endsAt, server_cert: 'ab'.repeat(32) }));

describe('settings with a token', () => {
  test('take it from the block or the environment, and either hides the certificate of the environment', () => {
    const env = { GANTRY_TOKEN: 'abc', GANTRY_CLIENT_CERTIFICATE_FILE: 'c.crt', GANTRY_CLIENT_KEY_FILE: 'c.key' };
    expect(read({}, { GANTRY_TOKEN: 'abc' }).settings.token).toBe('abc');
    expect(read({ token_file: file }, env).settings).toMatchObject({ token: null, client_key_file: null });
    const certificate = { client_certificate_file: 'd.crt', client_key_file: 'd.key' };
    expect(read(certificate, env).settings).toMatchObject({ ...certificate, token: null });
  });

  test('refuse it in two forms, beside a certificate, and on a unix socket', () => {
    expect(problems({ token: 'abc' })).toEqual([]);
    expect(problems({ token: 'abc', token_file: file })).toEqual(['token and token_file exclude each other']);
    const certificate = { client_certificate: 'c', client_key: 'k' };
    expect(problems({ token: 'abc', ...certificate })).toEqual(['A token and a client certificate exclude each other']);
    expect(problems({ address: 'unix:///s', token_file: file })).toEqual(['A unix socket does not use a token']);
  });
});

test('a trust token is refused without a client certificate, in another form, and as a token', () => {
  const text = encodeTrustToken({ client_name: 'ci', fingerprint: '0'.repeat(64), addresses: [], secret: 's' });
  const certificate = { client_certificate: 'c', client_key: 'k' };
  expect(problems({ trust_token: text, ...certificate })).toEqual([]);
  expect(problems({ trust_token: text })).toEqual(['trust_token needs a client certificate']);
  expect(problems({ trust_token: 'eyJub3QiOiJvbmUifQ==', ...certificate })).toEqual([
    'trust_token holds no trust token',
  ]);
  expect(problems({ token: text })).toEqual(['token holds a trust token']);
});

describe('the file of a token', () => {
  test('is re-read when the token is about to expire', async () => {
    let nowMs = 1_000_000;
    login('first', nowMs + 60_000);
    const found = await tokenOf(settingsOf({ token_file: file }), () => nowMs);
    expect(found?.serverCertificate).toBe('ab'.repeat(32));
    login('second', nowMs + 600_000);
    expect(await found?.bearer.fresh()).toBe('first');
    nowMs += 40_000;
    expect(await found?.bearer.fresh()).toBe('second');
    nowMs += 600_000;
    await expect(found?.bearer.fresh()).rejects.toThrow(`log in again with gantry login ${address}`);
  });

  test('may hold only the token, and is then re-read every half minute', async () => {
    let nowMs = 0;
    writeFileSync(file, 'first\n');
    const found = await tokenOf(settingsOf({ token_file: file }), () => nowMs);
    writeFileSync(file, 'second\n');
    expect(await found?.bearer.fresh()).toBe('first');
    nowMs += 30_000;
    expect(await found?.bearer.fresh()).toBe('second');
    expect(found?.bearer.current()).toBe('second');
  });

  test('the file of a token of a login at another server, or without a token, is refused', async () => {
    const summaryOf = async (given: Partial<Settings>): Promise<unknown> => {
      const refused = await tokenOf(settingsOf(given), () => 0).catch((error: unknown) => error);
      return (refused as { diagnostics?: { summary: string }[] }).diagnostics?.[0]?.summary;
    };
    login('abc', 1, 'https://web2:8443');
    expect(await summaryOf({ token_file: file })).toBe('The token is for another server');
    for (const text of ['', 'two words', '{', '{}', 'Bearer abc']) {
      writeFileSync(file, text);
      expect(await summaryOf({ token_file: file }), text).toBe('token_file holds no token');
    }
    expect(await summaryOf({ token: 'a\r\nb' })).toBe('token holds no token');
    expect(await summaryOf({ token_file: join(dir, 'none') })).toBe('Cannot read token_file');
  });
});
