// Asks the other members for the cluster's keys: a member that missed a key change reaches no etcd with its old ones.
import type { ClusterKeysDocument } from '../../records/cluster-documents.ts';
import { peerHeaders } from '../peer-headers.ts';
import { PeerLinks } from '../peer-links.ts';
import type { MemberPair } from './identity.ts';
import type { KeyPeer } from './key-file.ts';
import { compareStates } from './keyring.ts';

const answerMs = 3_000;
const connectAndAnswerMs = 10_000;
export const keysPath = '/internal/cluster/keys';

/** The newest keys that any peer has; undefined if no peer answers. */
export async function askPeers(pair: MemberPair, peers: readonly KeyPeer[]): Promise<ClusterKeysDocument | undefined> {
  const links = new PeerLinks({
    own: () => pair,
    certificateOf: (name) => peers.find((peer) => peer.name === name)?.certificate,
  });
  try {
    // The signal also ends an answer that stalls.
    const signal = AbortSignal.timeout(connectAndAnswerMs);
    const request = { method: 'GET', path: keysPath, headers: peerHeaders(''), timeoutMs: answerMs, signal };
    const asked = peers.map((peer) => links.json<ClusterKeysDocument>(peer, request).catch(() => undefined));
    const answers = (await Promise.all(asked)).filter((answer) => answer !== undefined);
    return answers.sort((a, b) => compareStates(b, a))[0];
  } finally {
    await links.close();
  }
}
