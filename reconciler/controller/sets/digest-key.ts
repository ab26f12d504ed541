// The key of the digests that the state directory keeps of values with secrets. It lies beside that directory, never in it: without the key
// nobody can guess a short secret from a copy of the state or from a backup.
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { readIfThere } from '../../../server/lib/shared/missing-files.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { DigestSeal } from '../decide/set-state.ts';
import { createOnce } from './state-file.ts';

const keyBytes = 32;
const isKey = /^[\w-]{43}$/;

/** Controllers that share the file have one key. `problem`: the file cannot be written, so the key ends with this process. */
export async function digestSealIn(file: string): Promise<{ readonly seal: DigestSeal; readonly problem?: string }> {
  const found = await readKey(file);
  if (found !== undefined) return { seal: sealWith(found) };
  const made = randomBytes(keyBytes).toString('base64url');
  try {
    const isFirst = await createOnce(file, `${made}\n`);
    return { seal: sealWith(isFirst ? made : ((await readKey(file)) ?? made)) };
  } catch (error) {
    return { seal: sealWith(made), problem: `${file} cannot be written: ${reasonOf(error)}` };
  }
}

async function readKey(file: string): Promise<string | undefined> {
  const text = (await readIfThere(file))?.trim();
  if (text === undefined || isKey.test(text)) return text;
  throw new Error(`${file} is damaged: restore it, or delete it to begin with a new key`);
}

/** Sealed digests name their key, so that one of another key is not taken for one of another value. */
export function sealWith(key: string): DigestSeal {
  const secret = createSecretKey(Buffer.from(key, 'base64url'));
  const mac = (text: string): string => createHmac('sha256', secret).update(text).digest('base64url');
  const begin = `hmac:${mac('name of this key').slice(0, 8)}:`;
  return { of: (digest) => `${begin}${mac(digest)}`, isOwn: (text) => text.startsWith(begin) };
}
