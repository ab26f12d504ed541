// Builds the record of a cluster's new keys. Pure but for randomness.
import { type Keyring, newGeneration, nextState, trustedIn } from '../../../membership/keys/keyring.ts';
import { type Receiver, sealKeyring } from '../../../membership/keys/seal.ts';
import type { ClusterKeysDocument } from '../../../records/cluster-documents.ts';

/** Keeps earlier keys until no value encrypted with them is left. The keys before those in use stay for one more change, which encrypts again
 *  what they encrypted: a member that was frozen, or a write without an answer, may have used them after all values were encrypted again. */
export function changedKeys(
  now: ClusterKeysDocument,
  keyring: Keyring,
  receivers: readonly Receiver[],
): ClusterKeysDocument {
  const state = nextState(now);
  const used = trustedIn(now);
  const oldest = Math.min(...used) - 1;
  const kept = keyring.filter(({ generation }) => now.rewritten !== true || generation >= oldest);
  return { v: 1, ...state, ...sealKeyring([...kept, newGeneration(state.generation)], receivers) };
}
