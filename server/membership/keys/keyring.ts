// The keys of a cluster by generation: one authority of the etcds and one key for values each, and which of them are valid in each phase of
// a change. Pure.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { ClusterKeysDocument, KeyPhase } from '../../records/cluster-documents.ts';

export interface KeyGeneration {
  readonly generation: number;
  /** PEM of the key that signs certificates of etcds and of their clients. */
  readonly authority: string;
  /** Base64 */
  readonly data: string;
}

export type Keyring = readonly KeyGeneration[];

/** The progress of a key change: of the cluster, or of one member. */
export type KeyState = Pick<ClusterKeysDocument, 'generation' | 'phase' | 'trusted' | 'shown'>;

/** trust: the new authority is trusted beside the old ones; show: members show certificates of the new one and encrypt with the new key;
 *  drop: only the new one is trusted; done: every present member has dropped the old ones. */
export const keyPhases: readonly KeyPhase[] = ['trust', 'show', 'drop', 'done'];

export const newGeneration = (generation: number): KeyGeneration => ({
  generation,
  authority: generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString(),
  data: randomBytes(32).toString('base64'),
});

/** Below 0: `a` is earlier. */
export function compareStates(a: Progress, b: Progress): number {
  return a.generation - b.generation || keyPhases.indexOf(a.phase) - keyPhases.indexOf(b.phase);
}

export type Progress = Pick<KeyState, 'generation' | 'phase'>;

/** Generations whose authority is trusted. Every member that has followed the previous phase trusts the authority of the certificates in
 *  use. */
export function trustedIn({ generation, phase, trusted }: KeyState): readonly number[] {
  if (phase === 'drop' || phase === 'done') return [generation];
  return [...new Set([...trusted, generation])].sort((a, b) => a - b);
}

/** The generation whose authority signs certificates in use, and whose key encrypts new values. */
export const usedIn = ({ generation, phase, shown }: KeyState): number => (phase === 'trust' ? shown : generation);

/** The next change, also in the middle of another one: whatever a member may still trust or show stays trusted. */
export function nextState(now: KeyState): KeyState {
  return { generation: now.generation + 1, phase: 'trust', trusted: [...trustedIn(now)], shown: usedIn(now) };
}

export const nextPhase = ({ phase }: Progress): KeyPhase => keyPhases[keyPhases.indexOf(phase) + 1] ?? 'done';
