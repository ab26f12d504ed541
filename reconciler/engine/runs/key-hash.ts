// The keyed hash of a set: HMAC-SHA256 cut to 54 bits, enough to tell values apart and of no use without the key.
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { emptySetState } from '../../core/ownership/set-state.ts';
import type { Observed } from '../../core/documents/observed.ts';
import type { KeyHash } from '../../core/ownership/owner-records.ts';
import type { SetOwner } from '../../core/plan/plan.ts';

const hashLength = 9;

export function keyHash(key: string): KeyHash {
  const secret = createSecretKey(Buffer.from(key, 'base64url'));
  return (text) => createHmac('sha256', secret).update(text).digest('base64url').slice(0, hashLength);
}

/** The set's owner as the server knows it; of a set that it does not know, with a new key that the first run will leave there. */
export function ownerOf(set: string, observed: Pick<Observed, 'sets'>): SetOwner & { readonly key: string } {
  const state = observed.sets?.get(set) ?? emptySetState(randomBytes(16).toString('base64url'));
  return { set, key: state.key, hash: keyHash(state.key) };
}
