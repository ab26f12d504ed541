// Decrypts a file of sops: here where it is for keys of age, by the program `sops` where that has other keys.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Json } from '../../core/documents/document.ts';
import { readAgeKeys } from './age.ts';
import { decryptSops, readSopsFile, SopsError } from './sops-file.ts';

type Environment = Readonly<Record<string, string | undefined>>;
const maxOutput = 1024 * 1024;

export interface Keys {
  /** Only these; absent: those that the environment names. */
  readonly ageKeys: string | undefined;
  readonly env: Environment;
}

export async function decryptFile(
  text: string,
  file: string,
  { ageKeys, env }: Keys,
  signal: AbortSignal | undefined,
): Promise<Json> {
  const found = readSopsFile(text);
  const keys = ageKeys ?? (await keysOf(env));
  if (found !== undefined && keys !== undefined) return decryptSops(found, await readAgeKeys(keys));
  if (ageKeys !== undefined) throw new SopsError('it is not encrypted for keys of age: encrypt it with sops --age');
  return JSON.parse(await runSops(file, env, signal)) as Json;
}

/** Where sops looks for keys of age. */
async function keysOf(env: Environment): Promise<string | undefined> {
  const { SOPS_AGE_KEY: own, SOPS_AGE_KEY_FILE: file, XDG_CONFIG_HOME: config, HOME: home } = env;
  if (own !== undefined) return own;
  if (file !== undefined) return readFile(file, 'utf8');
  if (home === undefined && config === undefined) return undefined;
  const usual = join(config ?? join(home ?? homedir(), '.config'), 'sops', 'age', 'keys.txt');
  return readFile(usual, 'utf8').catch(() => undefined);
}

async function runSops(file: string, env: Environment, signal: AbortSignal | undefined): Promise<string> {
  const options = { env: { ...env }, maxBuffer: maxOutput, ...(signal === undefined ? {} : { signal }) };
  try {
    return (await promisify(execFile)('sops', ['--decrypt', '--output-type', 'json', file], options)).stdout;
  } catch (error) {
    const { code, stderr } = error as NodeJS.ErrnoException & { readonly stderr?: string };
    if (code === 'ENOENT') throw new Error('the program sops is not installed', { cause: error });
    const lastLine = stderr?.trim().split('\n').at(-1) ?? (error as Error).message;
    throw new Error(`sops could not decrypt ${file}: ${lastLine}`, { cause: error });
  }
}
