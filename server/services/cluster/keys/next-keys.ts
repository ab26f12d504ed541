// The records of new keys of a cluster: the first ones, and those after a removal. Pure but for randomness.
import { type Keyring, newGeneration, nextState, trustedIn } from '../../../membership/keys/keyring.ts';
import { type Receiver, sealKeyring } from '../../../membership/keys/seal.ts';
import type { ClusterKeysDocument } from '../../../records/documents.ts';

/** `authority`: what has signed for the etcds so far, PEM of a key. */
export function firstKeys(authority: string, receivers: readonly Receiver[]): ClusterKeysDocument {
  const keyring = [{ generation: 0, authority }, newGeneration(1)];
  return { v: 1, generation: 1, phase: 'trust', trusted: [0], shown: 0, ...sealKeyring(keyring, receivers) };
}

/** Keys before those that are in use are kept until no value is left that they have encrypted. */
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
