// Builds the record of a cluster's new keys. Pure but for randomness.
import { type Keyring, newGeneration, nextState, trustedIn } from '../../../membership/keys/keyring.ts';
import { type Receiver, sealKeyring } from '../../../membership/keys/seal.ts';
import type { ClusterKeysDocument } from '../../../records/cluster-documents.ts';

/** Keeps earlier keys until no value encrypted with them is left. */
export function changedKeys(
  now: ClusterKeysDocument,
  keyring: Keyring,
  receivers: readonly Receiver[],
): ClusterKeysDocument {
  const state = nextState(now);
  const used = trustedIn(now);
  const kept = keyring.filter(({ generation }) => now.rewritten !== true || used.includes(generation));
  return { v: 1, ...state, ...sealKeyring([...kept, newGeneration(state.generation)], receivers) };
}
