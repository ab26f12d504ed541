// The keyed hash of a set: HMAC-SHA256 truncated to 54 bits, enough to distinguish values and useless without the key.
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

/** The owner of the set with its key from the server; for a new set with a new key, which the first run stores there. */
export function ownerOf(set: string, observed: Pick<Observed, 'sets'>): SetOwner & { readonly key: string } {
  const state = observed.sets?.get(set) ?? emptySetState(randomBytes(16).toString('base64url'));
  return { set, key: state.key, hash: keyHash(state.key) };
}
