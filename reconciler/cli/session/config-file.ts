// A small JSON file in the user's configuration directory: read errors say what to do, writes replace the whole file.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { commandError } from '../errors/usage-error.ts';
import { inTurn } from '../output/folder-lock.ts';
import { fileError } from '../../../server/lib/shared/error-code.ts';
import { makeFolder } from '../../../server/lib/shared/make-folder.ts';
import { replaceWhole } from '../../../server/lib/durable-files.ts';
import { homeFolder } from '../../manifest/text/home-folder.ts';

export type Env = Readonly<Record<string, string | undefined>>;

const pathOf = (env: Env, name: string): string =>
  join(env['XDG_CONFIG_HOME'] || join(homeFolder(env), '.config'), 'gantry', name);

/** A missing file counts as `{}`. `what`: `a list of remotes`; `parse` throws an Error with the reason. */
export async function readConfig<T>(
  env: Env,
  { name, what, parse }: { readonly name: string; readonly what: string; readonly parse: (read: unknown) => T },
): Promise<T> {
  const file = pathOf(env, name);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}';
    throw fileError(`cannot read ${file}`, error);
  });
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read !== 'object' || read === null || Array.isArray(read)) throw new Error('it holds no JSON object');
    return parse(read);
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    throw commandError(`${file} is not ${what} (${reason}): mend or delete it`, error);
  }
}

/** Reads and writes that other processes do not come between. */
export const changing = <T>(env: Env, work: () => Promise<T>): Promise<T> => inTurn(dirname(pathOf(env, '-')), work);

export async function writeConfig(env: Env, name: string, value: object): Promise<void> {
  const file = pathOf(env, name);
  await makeFolder(dirname(file), 0o700);
  await replaceWhole(file, `${JSON.stringify(value, null, 2)}\n`);
}
