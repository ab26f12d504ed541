// The identity of a controller: made at its first start and stored in its state directory, so that it recognizes its own notes on hosts even
// when its name or its hosts file has changed.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createOnce, readState } from './state-file.ts';

/** Controllers that share a state directory have one identity. */
export async function identityIn(stateDir: string): Promise<string> {
  const file = join(stateDir, 'identity.json');
  const found = await readIdentity(file);
  if (found !== undefined) return found;
  const made = randomBytes(8).toString('hex');
  const isFirst = await createOnce(file, `${JSON.stringify({ id: made })}\n`);
  return isFirst ? made : ((await readIdentity(file)) ?? made);
}

async function readIdentity(file: string): Promise<string | undefined> {
  const found = await readState(file);
  if (found === undefined) return undefined;
  const { id } = Object(found) as { readonly id?: unknown };
  if (typeof id === 'string' && id !== '') return id;
  throw new Error(`${file} is damaged: restore it, or delete it to begin with a new identity`);
}
