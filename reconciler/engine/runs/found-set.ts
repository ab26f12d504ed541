// A set as its plan finds it on the server: its key, and the records that nothing is behind any more.
import { randomBytes } from 'node:crypto';
import { isKindName } from '../../../server/api/kinds.ts';
import { addressParts, type Address } from '../../core/documents/document.ts';
import type { Observed } from '../../core/documents/observed.ts';
import { liveAt } from '../../core/kinds/index.ts';
import { emptySetState } from '../../core/ownership/set-state.ts';
import type { SetOwner } from '../../core/plan/plan.ts';
import { keyHash } from './key-hash.ts';

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
const isGone = (address: Address, observed: Observed): boolean =>
  isKindName(addressParts(address).kind) && liveAt(observed, address) === undefined;
