// Generates, hashes and compares secrets; callers decide when one is needed.
import { hash, randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { ConcurrencyLimit } from './shared/concurrency-limit.ts';

/** Hexadecimal of 256 random bits: for operation websockets and image links. */
export const randomSecret = (): string => randomBytes(32).toString('hex');

/** How the secret of a token is stored: the SHA-256 of its random bits, hexadecimal. */
export const secretHash = (secret: string): string => hash('sha256', secret);

/** Takes the same time wherever the texts differ, also if their lengths do. */
export function sameSecret(a: string, b: string): boolean {
  const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(a), digest(b));
}

const saltBytes = 32;
const keyBytes = 64;
const cost: ScryptOptions = { N: 16384, r: 8, p: 1 };

/** Hexadecimal of a random salt and the scrypt key, as core.trust_password is stored. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  return Buffer.concat([salt, await derive(password, salt)]).toString('hex');
}

/** False also for a stored text that is not a valid hash. */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const bytes = Buffer.from(stored, 'hex');
  if (bytes.length !== saltBytes + keyBytes || bytes.toString('hex') !== stored.toLowerCase()) return false;
  const key = await derive(password, bytes.subarray(0, saltBytes));
  return timingSafeEqual(key, bytes.subarray(saltBytes));
}

// One at a time: each derivation takes 16 MiB and a core, and unauthenticated clients can trigger them.
const derivations = new ConcurrencyLimit(1);

const derive = (password: string, salt: Buffer): Promise<Buffer> =>
  derivations.run(
    () =>
      new Promise((resolve, reject) => {
        scrypt(password, salt, keyBytes, cost, (error, key) => (error === null ? resolve(key) : reject(error)));
      }),
  );
