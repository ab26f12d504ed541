// Files of sops for keys of age are decrypted without the program, and every change of them is found out.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../../reconciler/core/documents/document.ts';
import { mapOf, textOf } from '../../../reconciler/core/documents/json-values.ts';
import { AgeError, decryptAge, readAgeKeys } from '../../../reconciler/manifest/secrets/age.ts';
import type { SopsKeys } from '../../../reconciler/manifest/secrets/decrypt-file.ts';
import { decryptSops, readSopsFile } from '../../../reconciler/manifest/secrets/sops-file.ts';
import { resolveSecrets } from '../../../reconciler/manifest/variables/secret-references.ts';
import { ageKey, canEncrypt, gpgKey, sopsText, type AgeKey, type GpgKey } from '../../support/controller/sops.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const values = {
  db: { password: 'p: "ä"\n', port: 5432, tls: true },
  users: ['ann', 'bob'],
  empty: '',
  region_plain: 'eu',
};
let mine: AgeKey;
let other: AgeKey;
let text = '';
beforeAll(() => {
  if (!canEncrypt) return;
  mine = ageKey();
  other = ageKey();
  text = sopsText(values, mine);
});
const decrypt = async (changed: string, { secret }: AgeKey = mine): Promise<unknown> => {
  const file = readSopsFile(changed);
  if (file === undefined) throw new Error('it is no file of sops');
  const keys = await readAgeKeys(secret);
  return decryptSops(file, [{ method: 'age', open: (message) => decryptAge(message, keys) }]);
};

describe.runIf(canEncrypt)('a file of sops', () => {
  test('is decrypted with the key that the reader was given, and with no other', async () => {
    expect(text).not.toContain('5432');
    expect(await decrypt(text)).toEqual(values);
    expect(await decrypt(text, { ...other, secret: `${other.secret}\n${mine.secret}` })).toEqual(values);
    await expect(decrypt(text, other)).rejects.toThrow(`none of the age keys decrypts it: it is for ${mine.recipient}`);
  });

  test('whose values were changed or moved is refused', async () => {
    await expect(decrypt(text.replace('region_plain: eu', 'region_plain: us'))).rejects.toThrow(
      'its values were changed',
    );
    await expect(decrypt(text.replace('password:', 'passwort:'))).rejects.toThrow(
      'the value of db:passwort was changed or moved',
    );
    await expect(decrypt(text.replace(/^ {2}password: .*$/m, '  password: plain'))).rejects.toThrow(
      'its values were changed',
    );
    await expect(decrypt(text.replace(/mac: .*$/m, 'mac: x'))).rejects.toThrow('its values were changed');
    await expect(decrypt(`more: x\n${text}`)).rejects.toThrow('its values were changed');
  });

  test('is left to the program when it is for other keys, or when its keys must be joined', () => {
    expect(readSopsFile('a: b\n')).toBeUndefined();
    expect(readSopsFile('a: b\nsops: { kms: [{}], age: [] }\n')).toBeUndefined();
    expect(readSopsFile(text.replace('  age:', '  shamir_threshold: 2\n  age:'))).toBeUndefined();
  });
});

describe.runIf(canEncrypt)('age', () => {
  test('refuses what is cut off, changed, or no key', async () => {
    const keys = await readAgeKeys(`# of ann\n${mine.secret}\n`);
    for (const hostile of ['', 'x', '-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n-----END AGE ENCRYPTED FILE-----'])
      await expect(decryptAge(hostile, keys), hostile).rejects.toThrow(AgeError);
    const armored =
      textOf(mapOf((readSopsFile(text)?.metadata['age'] as readonly Json[] | undefined)?.[0])['enc']) ?? '';
    expect(await decryptAge(armored, keys)).toHaveLength(32);
    const bytes = Buffer.from(armored.split('\n').slice(1, -2).join(''), 'base64');
    for (let at = 0; at < bytes.length; at += 7) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      const body = changed.toString('base64');
      const again = `-----BEGIN AGE ENCRYPTED FILE-----\n${body}\n-----END AGE ENCRYPTED FILE-----\n`;
      await expect(decryptAge(again, keys), String(at)).rejects.toThrow(AgeError);
    }
    const mistyped = mine.secret.trim().replace(/.$/, (letter) => (letter === 'Q' ? 'P' : 'Q'));
    for (const wrong of ['AGE-SECRET-KEY-1QQQQ', mistyped])
      await expect(readAgeKeys(wrong), wrong).rejects.toThrow('as age-keygen writes it');
  });
});

test.runIf(canEncrypt)(
  'from_sops finds the key in SOPS_AGE_KEY, and never in the environment of a controller',
  async () => {
    const folder = tempFolder('gantry-sops-');
    writeFileSync(join(folder, 's.yaml'), text);
    const reference = { a: { from_sops: 's.yaml#db.password' } };
    const plain = { value: { a: values.db.password }, findings: [] };
    const env = { SOPS_AGE_KEY: mine.secret };
    expect(await resolveSecrets(reference, { folder, env }, true)).toMatchObject(plain);
    expect(await resolveSecrets(reference, { folder, env: {}, sopsKeys: { age: mine.secret } }, true)).toMatchObject(
      plain,
    );
    const { findings } = await resolveSecrets(reference, { folder, env, sopsKeys: { age: other.secret } }, true);
    expect(findings[0]?.message).toContain('none of the age keys decrypts it');
    expect(JSON.stringify(findings)).not.toContain('AGE-SECRET');
  },
);

describe('a file of sops for GPG', () => {
  let folder = '';
  let ann: GpgKey;
  let bob: GpgKey;
  const keys: GpgKey[] = [];
  beforeAll(() => {
    folder = mkdtempSync('/tmp/gty-');
    keys.push((ann = gpgKey(folder, 'ann')), (bob = gpgKey(folder, 'bob')));
    writeFileSync(join(folder, 's.yaml'), sopsText(values, ann));
  });
  afterAll(() => {
    for (const key of keys) key.end();
    rmSync(folder, { recursive: true, force: true });
  });
  const reference = { a: { from_sops: 's.yaml#db.password' } };
  const openFolders = (): readonly string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('gty-gpg-'));

  test('is decrypted without sops: with the key of a set alone, and with the keyring of a person', async () => {
    const before = openFolders();
    const setting = { folder, env: {} };
    const plain = { value: { a: values.db.password }, findings: [] };
    expect(await resolveSecrets(reference, { ...setting, sopsKeys: { gpg: ann.secret } }, true)).toMatchObject(plain);
    const env = { PATH: process.env['PATH'], GNUPGHOME: ann.home };
    expect(await resolveSecrets(reference, { folder, env }, true)).toMatchObject(plain);
    const why = async (sopsKeys: SopsKeys): Promise<string | undefined> =>
      (await resolveSecrets(reference, { ...setting, sopsKeys }, true)).findings[0]?.message;
    expect(await why({ gpg: bob.secret })).toContain(`none of the GPG keys decrypts it: it is for ${ann.fingerprint}`);
    expect(await why({ gpg: 'no key' })).toContain('the file holds no secret key without a passphrase');
    expect(await why({ age: 'AGE-SECRET-KEY-1' })).toContain('it is not encrypted for keys of age');
    // The keyring of a set is gone, and so is its agent.
    expect(openFolders()).toEqual(before);
    const running = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    expect(running.split('\n').filter((line) => /gpg-agent.*gty-gpg-/.test(line))).toEqual([]);
  });

  test('is decrypted once for all documents and hosts of a load', async () => {
    const decrypted = new Map();
    const setting = { folder, env: {}, sopsKeys: { gpg: ann.secret }, decrypted };
    await resolveSecrets(reference, setting, true);
    writeFileSync(join(folder, 's.yaml'), 'a: b');
    expect((await resolveSecrets(reference, setting, true)).findings).toEqual([]);
  });
});
