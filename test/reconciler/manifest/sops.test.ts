// Files of sops for keys of age are decrypted without the program, and every change of them is found out.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../../reconciler/core/documents/document.ts';
import { mapOf, textOf } from '../../../reconciler/core/documents/json-values.ts';
import { AgeError, decryptAge, readAgeKeys } from '../../../reconciler/manifest/secrets/age.ts';
import { decryptSops, readSopsFile } from '../../../reconciler/manifest/secrets/sops-file.ts';
import { resolveSecrets } from '../../../reconciler/manifest/variables/secret-references.ts';
import { ageKey, canEncrypt, sopsText, type AgeKey } from '../../support/controller/sops.ts';
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
  return decryptSops(file, await readAgeKeys(secret));
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
    expect(readSopsFile('a: b\nsops: { pgp: [{}], age: [] }\n')).toBeUndefined();
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
    expect(await resolveSecrets(reference, { folder, env: {}, ageKeys: mine.secret }, true)).toMatchObject(plain);
    const { findings } = await resolveSecrets(reference, { folder, env, ageKeys: other.secret }, true);
    expect(findings[0]?.message).toContain('none of the age keys decrypts it');
    expect(JSON.stringify(findings)).not.toContain('AGE-SECRET');
  },
);
