// The keyed hash of a set: HMAC-SHA256 truncated to 54 bits, enough to distinguish values and useless without the key.
import { createHmac, createSecretKey } from 'node:crypto';
import type { KeyHash } from '../../core/ownership/owner-records.ts';

const hashLength = 9;

export function keyHash(key: string): KeyHash {
  const secret = createSecretKey(Buffer.from(key, 'base64url'));
  return (text) => createHmac('sha256', secret).update(text).digest('base64url').slice(0, hashLength);
}
