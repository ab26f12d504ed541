// Commit signatures: only commits that a named GPG or SSH key signed are used. The keys are made here.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openSource } from '../../../../reconciler/controller/sources/open-source.ts';
import { importKey } from '../../../../reconciler/controller/sources/git/import-key.ts';
import { readGpgStatus, readSshOutput } from '../../../../reconciler/controller/sources/git/read-signature.ts';
import type { GitSettings } from '../../../../reconciler/controller/sources/source-schema.ts';
import type { Source } from '../../../../reconciler/controller/sources/source.ts';
import { Repository } from '../../../support/git/repository.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const folder = tempFolder('gantry-sig-');
let repository: Repository;
let opened = 0;
const gpg = (home: string, ...args: string[]): Buffer =>
  execFileSync('gpg', ['--homedir', home, '--batch', '--no-tty', '--quiet', ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });

const has = (program: string, flag: string): boolean => {
  try {
    execFileSync(program, [flag], { stdio: 'ignore' });
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
};
const hasGpg = has('gpg', '--version');
const hasSsh = has('ssh-keygen', '-?');
if (!hasGpg) console.warn('skipped: GPG signatures, because gpg is not installed');
if (!hasSsh) console.warn('skipped: SSH signatures, because ssh-keygen is not installed');

beforeAll(() => {
  for (const who of hasGpg ? ['ada', 'eve'] : []) {
    mkdirSync(join(folder, who), { mode: 0o700 });
    gpg(
      join(folder, who),
      '--passphrase',
      '',
      '--quick-generate-key',
      `${who} <${who}@example.org>`,
      'ed25519',
      'sign',
      'never',
    );
    writeFileSync(join(folder, `${who}.gpg`), gpg(join(folder, who), '--export'));
  }
  for (const who of hasSsh ? ['ada', 'eve'] : []) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', who, '-f', join(folder, `${who}-ssh`)]);
    writeFileSync(
      join(folder, `${who}.signers`),
      `${who}@example.org namespaces="git" ${readFileSync(join(folder, `${who}-ssh.pub`), 'utf8')}`,
    );
  }
});
afterAll(() => {
  for (const who of hasGpg ? ['ada', 'eve'] : [])
    execFileSync('gpgconf', ['--homedir', join(folder, who), '--kill', 'all']);
});
beforeEach(() => {
  opened += 1;
  mkdirSync(join(folder, `r${opened}`));
  repository = new Repository(join(folder, `r${opened}`));
});

function source(settings: Partial<GitSettings>): Source {
  const context = {
    stateDir: join(folder, `state${opened}`),
    absolute: (path: string) => join(folder, path),
    now: () => '',
  };
  return openSource({ name: 'site', git: { url: repository.bare, ...settings } }, context);
}

function signed(how: 'gpg' | 'ssh', who: string, files: Readonly<Record<string, string>>): string {
  repository.write(files);
  repository.git('add', '-A');
  const key =
    how === 'gpg'
      ? ['-c', `user.signingKey=${who}@example.org`]
      : ['-c', 'gpg.format=ssh', '-c', `user.signingKey=${join(folder, `${who}-ssh`)}`];
  repository.gitWith({ GNUPGHOME: join(folder, who) }, ...key, 'commit', '-q', '-S', '-m', `by ${who}`);
  repository.push();
  return repository.head();
}

const unverified = (why: string) =>
  expect.objectContaining({ problem: 'unverified', message: expect.stringContaining(why) as string }) as object;

test('a gpg compromised by an imported key can only write to its keyring', async () => {
  const [programs, keyring] = [join(folder, 'hostile'), join(folder, 'keyring')];
  for (const made of [programs, keyring]) mkdirSync(made);
  const script = `#!/bin/bash
exec 2>/dev/null
touch ${folder}/escaped
touch ${keyring}/imported
exit 0
`;
  writeFileSync(join(programs, 'gpg'), script, { mode: 0o755 });
  await importKey(Buffer.from('key'), keyring, { PATH: `${programs}:${process.env['PATH'] ?? ''}` }, undefined);
  expect(readdirSync(keyring)).toEqual(['imported']);
  expect(existsSync(join(folder, 'escaped'))).toBe(false);
});

describe.skipIf(!hasGpg)('GPG signatures', () => {
  const verify = { gpg: ['ada.gpg'] };

  test('GPG signatures of a configured key are accepted, and the revision names the signer', async () => {
    const commit = signed('gpg', 'ada', { 'a.yaml': '1' });
    const found = await source({ verify }).check();
    expect(found).toMatchObject({ revision: commit, verified: { by: 'gpg', signer: 'ada <ada@example.org>' } });
    expect(found.verified?.key).toMatch(/^[0-9A-F]{40}$/);
  });

  test('GPG signatures of another key, absent ones and broken ones are refused; the last good checkout stays', async () => {
    const good = signed('gpg', 'ada', { 'a.yaml': '1' });
    const site = source({ verify });
    await site.check();
    signed('gpg', 'eve', { 'a.yaml': '2' });
    await expect(site.check()).rejects.toEqual(unverified('which verify.gpg does not hold'));
    const unsigned = repository.commit({ 'a.yaml': '3' });
    await expect(site.check()).rejects.toEqual(unverified('it is not signed'));
    await expect(site.checkout(unsigned)).rejects.toEqual(unverified('it is not signed'));
    await expect(site.resolve?.('main')).rejects.toEqual(unverified('it is not signed'));
    expect(readFileSync(join((await site.checkout(good)).dir, 'a.yaml'), 'utf8')).toBe('1');
  });

  test('GPG signatures that were moved to other contents are refused', async () => {
    signed('gpg', 'ada', { 'a.yaml': '1' });
    const object = repository.git('cat-file', 'commit', 'HEAD');
    const forged = repository.writeObject('commit', Buffer.from(`${object.replace('by ada', 'by Ada')}\n`));
    repository.git('push', '-q', '-f', 'origin', `${forged}:refs/heads/main`);
    await expect(source({ verify }).check()).rejects.toEqual(unverified('does not fit its contents'));
  });

  test('GPG signatures of an annotated tag count for its commit, under its own name only', async () => {
    repository.commit({ 'a.yaml': '1' });
    repository.gitWith(
      { GNUPGHOME: join(folder, 'ada') },
      '-c',
      'user.signingKey=ada@example.org',
      'tag',
      '-s',
      '-m',
      'one',
      'v1.0.0',
    );
    repository.git('push', '-q', 'origin', 'refs/tags/v1.0.0', 'refs/tags/v1.0.0:refs/tags/v2.0.0');
    expect(await source({ tag: 'v1.0.0', verify }).check()).toMatchObject({ verified: { by: 'gpg' } });
    await expect(source({ tag: 'v2.0.0', verify }).check()).rejects.toEqual(unverified('it is not signed'));
  });

  test('need a file with keys', async () => {
    signed('gpg', 'ada', { 'a.yaml': '1' });
    writeFileSync(join(folder, 'rubbish'), 'rubbish');
    await expect(source({ verify: { gpg: ['absent.gpg'] } }).check()).rejects.toMatchObject({ problem: 'unavailable' });
    await expect(source({ verify: { gpg: ['rubbish'] } }).check()).rejects.toMatchObject({ problem: 'unavailable' });
    await expect(source({ verify: {} }).check()).rejects.toEqual(unverified('names no keys'));
  });
});

describe.skipIf(!hasSsh)('SSH signatures', () => {
  const verify = { ssh: ['ada.signers'] };

  test('SSH signatures of an allowed signer are accepted', async () => {
    signed('ssh', 'ada', { 'a.yaml': '1' });
    const { verified } = await source({ verify }).check();
    expect(verified).toMatchObject({ by: 'ssh', signer: 'ada@example.org' });
    expect(verified?.key).toMatch(/^SHA256:/);
  });

  test('SSH signatures are checked again after a kill or a full disk cut the list of signers', async () => {
    signed('ssh', 'ada', { 'a.yaml': '1' });
    await source({ verify }).check();
    const home = join(folder, `state${opened}`, 'sources/site/home');
    const keys = readdirSync(home).find((name) => name.startsWith('keys-')) ?? '';
    writeFileSync(join(home, keys, 'allowed-signers'), '');
    expect((await source({ verify }).check()).verified).toMatchObject({ signer: 'ada@example.org' });
  });

  test('SSH signatures of others are refused', async () => {
    signed('ssh', 'eve', { 'a.yaml': '1' });
    await expect(source({ verify }).check()).rejects.toEqual(unverified('which verify.ssh does not hold'));
  });

  test.skipIf(!hasGpg)('do not count for a GPG key, nor the reverse', async () => {
    signed('ssh', 'ada', { 'a.yaml': '1' });
    await expect(source({ verify: { gpg: ['ada.gpg'] } }).check()).rejects.toEqual(unverified(''));
    signed('gpg', 'ada', { 'a.yaml': '2' });
    await expect(source({ verify }).check()).rejects.toEqual(unverified('does not hold'));
  });
});

describe('output of the programs', () => {
  const status = (...lines: string[]): string => lines.map((line) => `[GNUPG:] ${line}\n`).join('');
  const good = [
    'NEWSIG',
    'GOODSIG ABCD Ada <a@b>',
    `VALIDSIG ${'A'.repeat(40)} 2026-01-01 1 0 4 0 22 10 00 ${'B'.repeat(40)}`,
  ];

  test('is read as one good signature, with the primary key', () => {
    expect(readGpgStatus(status(...good))).toEqual({ by: 'gpg', key: 'B'.repeat(40), signer: 'Ada <a@b>' });
  });

  test.each([
    [['EXPKEYSIG ABCD Ada', ...good.slice(2)], 'has expired'],
    [['REVKEYSIG ABCD Ada', ...good.slice(2)], 'was revoked'],
    [[...good, 'NEWSIG', 'ERRSIG X 22 10 00 1 9 Y'], 'which verify.gpg does not hold'],
    [[...good, ...good], 'exactly one'],
    [[], 'not signed'],
  ])('is refused: %j', (lines, why) => {
    expect(readGpgStatus(status(...lines))).toEqual({ why: expect.stringContaining(why) as string });
  });

  test('a marker in the output of ssh-keygen must be a whole line', () => {
    expect(readSshOutput('x Good "git" signature for ada with ED25519 key SHA256:abc')).toEqual({
      why: 'its signature is not valid',
    });
    expect(readSshOutput('Good "git" signature for ada with ED25519 key SHA256:abc\n')).toMatchObject({
      signer: 'ada',
    });
  });
});
