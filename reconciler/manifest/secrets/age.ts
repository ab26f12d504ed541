// Decrypts files of age with the library of age's author, which is loaded only when there is such a file.
import type { Decrypter } from 'age-encryption';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

export class AgeError extends Error {
  override readonly name = 'AgeError';
}

/** Reads the format of age-keygen: comments, and lines of AGE-SECRET-KEY-1... */
export async function readAgeKeys(text: string): Promise<Decrypter> {
  const age = await import('age-encryption');
  const decrypter = new age.Decrypter();
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '' || line.startsWith('#')) continue;
    try {
      decrypter.addIdentity(line);
    } catch (error) {
      throw new AgeError('a key of age must be a line AGE-SECRET-KEY-1..., as age-keygen writes it', { cause: error });
    }
  }
  return decrypter;
}

/** `text`: armored. Throws AgeError when no key fits or the text was changed. */
export async function decryptAge(text: string, keys: Decrypter): Promise<Buffer> {
  const { armor } = await import('age-encryption');
  try {
    return Buffer.from(await keys.decrypt(armor.decode(text)));
  } catch (error) {
    throw new AgeError(`it cannot be decrypted: ${reasonOf(error)}`, { cause: error });
  }
}
