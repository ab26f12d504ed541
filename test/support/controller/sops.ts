// Encrypts values like sops for an age or GPG key, with the programs `age` and `gpg`, which need neither network nor sops.
import { execFileSync } from 'node:child_process';
import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { existsSync, mkdirSync } from 'node:fs';
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

export interface GpgKey {
  readonly secret: string;
  readonly fingerprint: string;
  /** Ends its agent. */
  readonly end: () => void;
  readonly home: string;
}

/** A key without a passphrase, in a keyring below the folder, whose path must be short. */
export function gpgKey(folder: string, name: string): GpgKey {
  const home = join(folder, name);
  mkdirSync(home, { mode: 0o700 });
  const gpg = (...args: readonly string[]): string =>
    execFileSync('gpg', ['--homedir', home, '--batch', '--quiet', '--passphrase', '', ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  gpg('--quick-gen-key', `${name}@example.org`, 'future-default', 'default', 'never');
  const fingerprint = /^fpr:+([0-9A-F]+):/m.exec(gpg('--with-colons', '--list-keys'))?.[1] ?? '';
  const secret = gpg('--armor', '--export-secret-keys');
  return { secret, fingerprint, home, end: () => void execFileSync('gpgconf', ['--homedir', home, '--kill', 'all']) };
}

function ofKey(key: AgeKey | GpgKey, data: Buffer): object {
  if ('recipient' in key) {
    const enc = execFileSync('age', ['-a', '-r', key.recipient], { encoding: 'utf8', input: data });
    return { age: [{ recipient: key.recipient, enc }] };
  }
  const args = ['--homedir', key.home, '--batch', '--quiet', '--trust-model', 'always', '--armor'];
  const enc = execFileSync('gpg', [...args, '--recipient', key.fingerprint, '--encrypt'], {
    encoding: 'utf8',
    input: data,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  return { pgp: [{ created_at: '2026-01-02T03:04:05Z', enc, fp: key.fingerprint }] };
}

/** The text of an encrypted file. Names that end with `_plain` stay readable, and are covered all the same. */
export function sopsText(values: Readonly<Record<string, Json>>, owner: AgeKey | GpgKey): string {
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
  const mac = sealed(hash.digest('hex').toUpperCase(), 'str', key, lastmodified);
  return stringify({ ...tree, sops: { ...ofKey(owner, key), lastmodified, mac, version: '3.10.2' } }, { lineWidth: 0 });
}

function sealed(text: string, type: string, key: Buffer, path: string): string {
  const iv = randomBytes(32);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(Buffer.from(path));
  const data = Buffer.concat([cipher.update(text), cipher.final()]).toString('base64');
  return `ENC[AES256_GCM,data:${data},iv:${iv.toString('base64')},tag:${cipher.getAuthTag().toString('base64')},type:${type}]`;
}
