// `gantry trust`: tokens for new clients, joining with them, and the certificates that a server trusts.
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { decodeTrustToken, encodeTrustToken } from '../../../../server/api/server/trust-token.ts';
import { cli } from '../../../support/cli/io.ts';
import type { TestDaemon } from '../../../support/daemons/daemon.ts';
import { useDaemon } from '../../../support/daemons/emptied.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let daemon: TestDaemon;
let dir = '';
useDaemon((given) => void (daemon = given), { https: '127.0.0.1:0' });
beforeEach(() => void (dir = tempFolder('gtct-')));

const local = (...words: string[]) => cli([...words, '--host', `unix://${daemon.socketPath}`]);
const pair = () => ['--client-cert', join(dir, 'c.crt'), '--client-key', join(dir, 'c.key')];
const tokenFor = async (name: string, ...flags: string[]) =>
  (await local('trust', 'add', name, ...flags)).stdout.trim();

describe('gantry trust', () => {
  test('add prints a token; join makes a key pair, adds it, and explains how to connect', async () => {
    const made = await local('trust', 'add', 'laptop');
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('Good for one use') });
    expect(decodeTrustToken(made.stdout)).toMatchObject({ client_name: 'laptop' });

    const joined = await cli(['trust', 'join', made.stdout.trim(), ...pair()]);
    expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining('trusts laptop now') });
    expect(statSync(join(dir, 'c.key')).mode & 0o777).toBe(0o600);
    const flags = (joined.stdout.trim().split('\n').at(-1) ?? '').trim().split(' ');
    expect((await cli(['get', 'certificates', ...flags])).stdout).toContain('laptop');

    const again = await cli(['trust', 'join', made.stdout.trim(), ...pair()]);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringMatching(/is already trusted/) });
  });

  test('join takes an existing pair, and the token from stdin', async () => {
    expect((await cli(['trust', 'join', await tokenFor('one'), ...pair()])).code).toBe(0);
    const key = readFileSync(join(dir, 'c.key'), 'utf8');
    await local('trust', 'remove', 'one');
    const joined = await cli(['trust', 'join', '-', '--json', ...pair()], { piped: `${await tokenFor('two')}\n` });
    expect(JSON.parse(joined.stdout)).toMatchObject({ address: `https://${daemon.daemon.httpsAddress()}` });
    expect(readFileSync(join(dir, 'c.key'), 'utf8')).toBe(key);
  });

  test('join refuses invalid input, and sends the token to no other server', async () => {
    const token = await tokenFor('laptop');
    expect(await cli(['trust', 'join', token])).toMatchObject({ code: 64 });
    expect(await cli(['trust', 'join', 'half', ...pair()])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('copied whole'),
    });
    const parts = decodeTrustToken(token);
    if (parts === undefined) throw new Error('no token');
    const other = encodeTrustToken({ ...parts, fingerprint: 'a'.repeat(64) });
    const refused = await cli(['trust', 'join', other, ...pair()]);
    expect(refused).toMatchObject({ code: 7, stderr: expect.stringMatching(/fingerprint|certificate/) });
    const gone = encodeTrustToken({ ...parts, addresses: ['127.0.0.1:1'] });
    expect(await cli(['trust', 'join', gone, ...pair()])).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('No address of the token answers'),
    });
    const lone = join(dir, 'lone.key');
    const missing = join(dir, 'none/c.crt');
    expect(await cli(['trust', 'join', token, '--client-key', lone, '--client-cert', missing])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`cannot write ${missing}: there is no such file or folder`),
    });
    expect(existsSync(lone)).toBe(false);
    rmSync(join(dir, 'c.crt'));
    expect(await cli(['trust', 'join', token, ...pair()])).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('c.crt is missing'),
    });
    expect((await local('get', 'certificates', '-o', 'name')).stdout).toBe('');
  });

  test('a restricted token is valid for its projects', async () => {
    expect(await local('trust', 'add', 'ci', '--projects', 'default')).toMatchObject({ code: 64 });
    expect(await local('trust', 'add', 'ci', '--restricted', '--projects', 'gone')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('gone'),
    });
    const token = await tokenFor('ci', '--restricted', '--projects', 'default');
    expect((await cli(['trust', 'join', token, ...pair()])).code).toBe(0);
    const address = `https://${daemon.daemon.httpsAddress()}`;
    const fingerprint = decodeTrustToken(token)?.fingerprint ?? '';
    const flags = [...pair(), '--host', address, '--server-cert', fingerprint];
    expect((await cli(['get', 'containers', ...flags])).code).toBe(0);
    expect((await cli(['trust', 'add', 'more', ...flags])).code).not.toBe(0);
  });

  test('list, show and remove find certificates by name or the beginning of a fingerprint, on one host and on several', async () => {
    await cli(['trust', 'join', await tokenFor('laptop'), ...pair()]);
    const shown = JSON.parse((await local('trust', 'show', 'laptop', '-o', 'json')).stdout) as { fingerprint: string };
    expect((await local('trust', 'list')).stdout).toContain('laptop');
    expect((await local('trust', 'list', '-o', 'json')).stdout).toContain(shown.fingerprint);
    expect((await local('trust', 'show', shown.fingerprint.slice(0, 8))).stdout).toContain('name: laptop');
    const hosts = join(dir, 'hosts.yaml');
    writeFileSync(hosts, `kind: hosts\nhosts: [{ name: h1, address: 'unix://${daemon.socketPath}' }]\n`);
    expect((await cli(['trust', 'list', '--hosts', hosts])).stdout).toMatch(/h1 +.*laptop/);
    expect(await local('trust', 'remove', 'lapto')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/not trusted there.*laptop/s),
    });
    expect((await local('trust', 'rm', 'laptop')).stdout).toContain(shown.fingerprint);
    expect((await local('trust', 'list', '-o', 'name')).stdout).toBe('');
    expect(existsSync(join(dir, 'c.key'))).toBe(true);
  });
});
