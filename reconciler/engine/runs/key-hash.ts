// A set as its plan finds it, with its keyed hash: HMAC-SHA256 truncated to 54 bits, enough to distinguish values and useless without
// the key.
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { isKindName } from '../../../server/api/kinds.ts';
import type { Address } from '../../core/documents/document.ts';
import { coreKind } from '../../core/kinds/index.ts';
import { emptySetState } from '../../core/ownership/set-state.ts';
import type { Observed } from '../../core/documents/observed.ts';
import type { KeyHash } from '../../core/ownership/owner-records.ts';
import type { SetOwner } from '../../core/plan/plan.ts';

const hashLength = 9;

export function keyHash(key: string): KeyHash {
  const secret = createSecretKey(Buffer.from(key, 'base64url'));
  return (text) => createHmac('sha256', secret).update(text).digest('base64url').slice(0, hashLength);
}

/** A set as its plan found it on the server. */
export interface FoundSet extends SetOwner {
  readonly key: string;
  /** `SetState.runs`. */
  readonly runs: number;
  /** Records of objects that are gone. */
  readonly lost: ReadonlySet<Address>;
}

/** A new set gets a new key, which its first run stores. */
export function ownerOf(set: string, observed: Observed): FoundSet {
  const { key, runs, inventory } = observed.sets?.get(set) ?? emptySetState(randomBytes(16).toString('base64url'));
  const lost = new Set([...inventory.keys()].filter((address) => isGone(address, observed)));
  return { set, key, hash: keyHash(key), runs, lost };
}

/** Newer releases may have kinds that this one does not know. */
function isGone(address: Address, observed: Observed): boolean {
  const slash = address.indexOf('/');
  const kind = address.slice(0, slash);
  return isKindName(kind) && coreKind(kind).live(observed, address.slice(slash + 1)) === undefined;
}
