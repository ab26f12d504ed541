// The identity of a controller: made at its first start and stored in its state directory, so that it recognizes its own notes on hosts even
// when its name or its hosts file has changed.
import { randomBytes } from 'node:crypto';
import { link, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readState } from './state-file.ts';
import { makeFolder } from '../../../server/lib/shared/make-folder.ts';

/** Controllers that share a state directory have one identity. */
export async function identityIn(stateDir: string): Promise<string> {
  const file = join(stateDir, 'identity.json');
  const found = await readIdentity(file);
  if (found !== undefined) return found;
  const made = randomBytes(8).toString('hex');
  const partial = `${file}.${made}.new`;
  await makeFolder(stateDir, 0o700);
  await writeFile(partial, `${JSON.stringify({ id: made })}\n`, { mode: 0o600, flush: true });
  try {
    await link(partial, file);
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return (await readIdentity(file)) ?? made;
  } finally {
    await rm(partial, { force: true });
  }
}

async function readIdentity(file: string): Promise<string | undefined> {
  const found = await readState(file);
  if (found === undefined) return undefined;
  const { id } = Object(found) as { readonly id?: unknown };
  if (typeof id === 'string' && id !== '') return id;
  throw new Error(`${file} is damaged: restore it, or delete it to begin with a new identity`);
}
