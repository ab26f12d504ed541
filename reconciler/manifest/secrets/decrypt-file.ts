// Decrypts a file of sops: in this process when it is encrypted for keys of age or GPG, otherwise with the program `sops`.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Json } from '../../core/documents/document.ts';
import { decryptAge, readAgeKeys } from './age.ts';
import { withOwnKeys, withSecretKey } from './gpg.ts';
import { decryptSops, isFor, readSopsFile, SopsError, type KeyOpener, type SopsFile } from './sops-file.ts';
import { homeFolder } from '../text/home-folder.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

type Environment = Readonly<Record<string, string | undefined>>;
const maxOutput = 1024 * 1024;

/** Keys that the controller has for a set; the set uses no others. */
export interface SopsKeys {
  /** As age-keygen writes them. */
  readonly age?: string;
  /** A secret key of GPG, as gpg --export-secret-keys --armor writes it. */
  readonly gpg?: string;
}

export interface Keys {
  /** Absent: keys of the environment and of the user's keyring are used, or the program `sops`. */
  readonly only: SopsKeys | undefined;
  readonly env: Environment;
}

export async function decryptFile(
  text: string,
  file: string,
  { only, env }: Keys,
  signal: AbortSignal | undefined,
): Promise<Json> {
  const found = readSopsFile(text);
  if (only !== undefined) return withKeys(found, only, signal);
  const age = found !== undefined && isFor(found, 'age') ? await keysOf(env) : undefined;
  if (found !== undefined && age !== undefined) return decryptSops(found, [await ageOpener(age)]);
  if (found === undefined || !isFor(found, 'pgp')) return JSON.parse(await runSops(file, env, signal)) as Json;
  try {
    return await decryptSops(found, [{ method: 'pgp', open: withOwnKeys(env, signal) }]);
  } catch (error) {
    // The program may know other keys, such as those of a key service.
    const byProgram = await runSops(file, env, signal).catch(() => undefined);
    if (byProgram === undefined) throw error;
    return JSON.parse(byProgram) as Json;
  }
}

async function withKeys(
  found: SopsFile | undefined,
  { age, gpg }: SopsKeys,
  signal: AbortSignal | undefined,
): Promise<Json> {
  const byAge = age !== undefined && found !== undefined && isFor(found, 'age') ? [await ageOpener(age)] : [];
  if (found !== undefined && gpg !== undefined && isFor(found, 'pgp'))
    return withSecretKey(gpg, signal, (open) => decryptSops(found, [...byAge, { method: 'pgp', open }]));
  if (found !== undefined && byAge.length > 0) return decryptSops(found, byAge);
  throw new SopsError(
    `it is not encrypted for keys of ${age === undefined ? 'GPG' : 'age'}: encrypt it with sops ${age === undefined ? '--pgp' : '--age'}`,
  );
}

async function ageOpener(text: string): Promise<KeyOpener> {
  const keys = await readAgeKeys(text);
  return { method: 'age', open: (message) => decryptAge(message, keys) };
}

/** Where sops looks for keys of age. */
async function keysOf(env: Environment): Promise<string | undefined> {
  const { SOPS_AGE_KEY: own, SOPS_AGE_KEY_FILE: file, XDG_CONFIG_HOME: config, HOME: home } = env;
  if (own !== undefined) return own;
  if (file !== undefined) return readFile(file, 'utf8');
  if (home === undefined && config === undefined) return undefined;
  const usual = join(config ?? join(homeFolder(env), '.config'), 'sops', 'age', 'keys.txt');
  return readFile(usual, 'utf8').catch(() => undefined);
}

async function runSops(file: string, env: Environment, signal: AbortSignal | undefined): Promise<string> {
  const options = { env: { ...env }, maxBuffer: maxOutput, ...withoutUndefined({ signal }) };
  try {
    return (await promisify(execFile)('sops', ['--decrypt', '--output-type', 'json', file], options)).stdout;
  } catch (error) {
    const { code, stderr } = error as NodeJS.ErrnoException & { readonly stderr?: string };
    if (code === 'ENOENT') throw new Error('the program sops is not installed', { cause: error });
    const lastLine = stderr?.trim().split('\n').at(-1) ?? (error as Error).message;
    throw new Error(`sops could not decrypt ${file}: ${lastLine}`, { cause: error });
  }
}
