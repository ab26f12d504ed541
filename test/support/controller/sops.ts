// Encrypts values as sops does for a key of age: with the program `age`, which needs no network and no sops.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { stringify } from 'yaml';
import type { Json } from '../../../reconciler/core/documents/document.ts';

export const canEncrypt = existsSync('/usr/bin/age');
if (!canEncrypt) console.log('skipped: tests of sops files: age is not installed');

export interface AgeKey {
  readonly secret: string;
  readonly recipient: string;
}

export function ageKey(): AgeKey {
  const secret = execFileSync('age-keygen', { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const recipient = execFileSync('age-keygen', ['-y'], { encoding: 'utf8', input: secret }).trim();
  return { secret, recipient };
}

/** The text of an encrypted file. Names that end with `_plain` stay readable, and are covered all the same. */
export function sopsText(values: Readonly<Record<string, Json>>, { recipient }: AgeKey): string {
  const key = randomBytes(32);
  const hash = createHash('sha512');
  const walk = (value: Json, path: readonly string[]): Json => {
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => walk(item, path));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, walk(item, [...path, name])]));
    const text = typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
    hash.update(text);
    const type = typeof value === 'string' ? 'str' : typeof value === 'boolean' ? 'bool' : 'int';
    return path.at(-1)?.endsWith('_plain') === true ? value : sealed(text, type, key, `${path.join(':')}:`);
  };
  const tree = walk(values, []) as Record<string, Json>;
  const lastmodified = '2026-01-02T03:04:05Z';
  const enc = execFileSync('age', ['-a', '-r', recipient], { encoding: 'utf8', input: key });
  const mac = sealed(hash.digest('hex').toUpperCase(), 'str', key, lastmodified);
  return stringify(
    { ...tree, sops: { age: [{ recipient, enc }], lastmodified, mac, version: '3.10.2' } },
    { lineWidth: 0 },
  );
}

function sealed(text: string, type: string, key: Buffer, path: string): string {
  const iv = randomBytes(32);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(Buffer.from(path));
  const data = Buffer.concat([cipher.update(text), cipher.final()]).toString('base64');
  return `ENC[AES256_GCM,data:${data},iv:${iv.toString('base64')},tag:${cipher.getAuthTag().toString('base64')},type:${type}]`;
}
