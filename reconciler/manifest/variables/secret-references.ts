// Replaces references to secrets in a manifest by their values: `{from_env: NAME}`, `{from_file: path}`, `{from_sops: file#a.b}`,
// `{from_vault: mount/path#field}`.
// Records their paths, so that they are masked.
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import { decryptFile, type SopsKeys } from '../secrets/decrypt-file.ts';
import { VaultError } from '../secrets/vault-http.ts';
import type { ReadSecret } from '../secrets/vault-secrets.ts';
import { inFence } from '../text/fence.ts';
import { wrong, type Finding } from '../text/finding.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** A larger file is not a secret but a mistake. */
const largestBytes = 256 * 1024;

/** By absolute path. */
export type DecryptedFiles = Map<string, Promise<Json>>;

export interface SecretSetting {
  /** The folder to which paths are relative. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The only keys for decryption; absent: those of the environment, the keyring, or the program `sops`. */
  readonly sopsKeys?: SopsKeys;
  /** Files decrypted once for several documents and hosts. */
  readonly decrypted?: DecryptedFiles;
  /** Absent: nobody said where Vault is. */
  readonly vault?: ReadSecret;
  /** Replaces the decryption in tests; returns JSON. */
  readonly decrypt?: (file: string, signal?: AbortSignal) => Promise<string>;
}

export interface ResolvedSecrets {
  readonly value: Json;
  /** Dotted paths of the secrets. */
  readonly secrets: readonly string[];
  readonly findings: readonly Finding[];
}

const words = ['from_env', 'from_file', 'from_sops', 'from_vault'] as const;
/** The manifest may be right: Vault has no such secret now, or does not answer. */
export const vaultCode = 'vault';
type Word = (typeof words)[number];

/** `read: false` for offline checks: references are checked but not resolved, and replaced by a harmless text. */
export async function resolveSecrets(
  value: Json,
  setting: SecretSetting,
  read: boolean,
  signal?: AbortSignal,
): Promise<ResolvedSecrets> {
  if (!holdsReference(value)) return { value, secrets: [], findings: [] };
  const resolver = new Resolver(setting, read, signal);
  return { value: await resolver.walk(value, ''), secrets: resolver.secrets, findings: resolver.findings };
}

class Resolver {
  readonly secrets: string[] = [];
  readonly findings: Finding[] = [];
  readonly #setting: SecretSetting;
  readonly #read: boolean;
  readonly #signal: AbortSignal | undefined;
  readonly #decrypted: DecryptedFiles;

  constructor(setting: SecretSetting, read: boolean, signal: AbortSignal | undefined) {
    this.#setting = setting;
    this.#decrypted = setting.decrypted ?? new Map<string, Promise<Json>>();
    this.#read = read;
    this.#signal = signal;
  }

  async walk(value: Json, path: string): Promise<Json> {
    const below = (key: string): string => (path === '' ? key : `${path}.${key}`);
    if (Array.isArray(value)) {
      const items: Json[] = [];
      for (const [index, item] of (value as readonly Json[]).entries())
        items.push(await this.walk(item, below(String(index))));
      return items;
    }
    if (!isMap(value)) return value;
    const word = wordOf(value);
    if (word !== undefined) return this.#one(word, value[word] ?? null, path);
    const entries: [string, Json][] = [];
    for (const [key, item] of Object.entries(value)) entries.push([key, await this.walk(item, below(key))]);
    return Object.fromEntries(entries);
  }

  async #one(word: Word, reference: Json, path: string): Promise<Json> {
    this.secrets.push(path);
    if (typeof reference !== 'string' || reference === '') {
      this.findings.push(wrong('bad-secret', path, `${word} must be a text, such as ${examples[word]}`));
      return null;
    }
    if (!this.#read) return 'unread';
    try {
      return await this.#value(word, reference);
    } catch (error) {
      this.#signal?.throwIfAborted();
      const code = error instanceof VaultError ? vaultCode : 'bad-secret';
      this.findings.push(wrong(code, path, `${word}: ${(error as Error).message}`, remedies[word]));
      return null;
    }
  }

  async #value(word: Word, reference: string): Promise<string> {
    const { env, folder, vault } = this.#setting;
    if (word === 'from_vault') {
      if (vault === undefined) throw new Error('nobody said where Vault is');
      return vault(reference, this.#signal);
    }
    if (word === 'from_env') {
      const value = env[reference];
      if (value === undefined)
        throw new Error(`the environment has no ${reference}${hint(reference, Object.keys(env))}`);
      return value;
    }
    if (word === 'from_file')
      return withoutLastBreak(await readSmall(inFence(resolve(folder, reference)), this.#signal));
    const [file, inner] = splitAt(reference, '#');
    const full = inFence(resolve(folder, file));
    const known = this.#decrypted.get(full) ?? this.#decrypt(full);
    this.#decrypted.set(full, known);
    return valueAt(await known, inner, file);
  }

  async #decrypt(file: string): Promise<Json> {
    const { decrypt, sopsKeys: only, env } = this.#setting;
    if (decrypt !== undefined) return JSON.parse(await decrypt(file, this.#signal)) as Json;
    return decryptFile(await readSmall(file, this.#signal), file, { only, env }, this.#signal);
  }
}

function wordOf(value: JsonObject): Word | undefined {
  const keys = Object.keys(value);
  return keys.length === 1 ? words.find((word) => word === keys[0]) : undefined;
}

function holdsReference(value: Json): boolean {
  if (Array.isArray(value)) return (value as readonly Json[]).some(holdsReference);
  if (!isMap(value)) return false;
  if (wordOf(value) !== undefined) return true;
  for (const key in value) if (holdsReference(value[key] ?? null)) return true;
  return false;
}

const examples: Readonly<Record<Word, string>> = {
  from_env: 'DB_PASSWORD',
  from_file: 'secrets/password',
  from_sops: 'secrets.yaml#db.password',
  from_vault: 'kv/shop/db#password',
};
const remedies: Readonly<Record<Word, string>> = {
  from_env: 'export it before gantry runs',
  from_file: 'paths are relative to the manifest',
  from_sops:
    'it needs a key of age (SOPS_AGE_KEY or SOPS_AGE_KEY_FILE) or GPG, for a controller secrets.ageKeyFile or gpgKeyFile of the set',
  from_vault: 'it needs VAULT_ADDR and VAULT_TOKEN or vault login, for a controller secrets.vault of the set',
};

async function readSmall(path: string, signal: AbortSignal | undefined): Promise<string> {
  const found = await stat(path);
  if (!found.isFile()) throw new Error(`${path} is not a file`);
  if (found.size > largestBytes) throw new Error(`${path} has ${found.size} bytes; a secret may have ${largestBytes}`);
  return readFile(path, { encoding: 'utf8', ...withoutUndefined({ signal }) });
}

/** Editors end files with a line break that does not belong to the secret. */
const withoutLastBreak = (text: string): string => text.replace(/\r?\n$/, '');

function splitAt(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function valueAt(tree: Json, path: string, file: string): string {
  let value: Json | undefined = tree;
  for (const key of path === '' ? [] : path.split('.'))
    value = isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new Error(
    value === undefined
      ? `${file} has no ${path}`
      : `${path === '' ? file : path} is no single value: name one as FILE#a.b`,
  );
}
