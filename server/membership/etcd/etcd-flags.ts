// The command line of an etcd of the cluster. Pure.
import type { EtcdTlsFiles } from './certificates.ts';

export interface EtcdStart {
  /** Its data; only the owner can read it. */
  readonly dir: string;
  readonly name: string;
  /** HOST:PORT that clients of all members reach. */
  readonly clientAddress: string;
  /** HOST:PORT that the other etcds reach. */
  readonly peerAddress: string;
  /** How its first start finds the cluster: a new one, or one that has added it. Later starts have that in their data. */
  readonly first: EtcdFirstStart;
  readonly tls: EtcdTlsFiles;
  readonly tuning?: EtcdTuning;
  /** Drops the other etcds from its membership: only for the last one left, never beside a running one. */
  readonly isAlone?: boolean;
  /** HOST:PORT that serves its metrics, also without a majority; absent: none. */
  readonly metricsAddress?: string;
}

/** `peers`: every etcd of the cluster by name, this one included, with its peer address. `token` identifies the cluster. */
export type EtcdFirstStart =
  | { readonly kind: 'new'; readonly token: string }
  | { readonly kind: 'join'; readonly peers: readonly { readonly name: string; readonly peerAddress: string }[] };

export interface EtcdTuning {
  readonly heartbeatMs?: number;
  readonly electionMs?: number;
  readonly quotaBytes?: number;
  readonly snapshotCount?: number;
}

/** Tuned for a local network. History in memory covers `snapshotCount` transactions. */
const defaults: Required<EtcdTuning> = {
  heartbeatMs: 100,
  electionMs: 1_000,
  quotaBytes: 8 * 1024 ** 3,
  snapshotCount: 10_000,
};

export const etcdQuotaBytes = defaults.quotaBytes;

export function etcdFlags(start: EtcdStart, version: string): string[] {
  const { dir, name, clientAddress, peerAddress, first, tls } = start;
  const tuning = { ...defaults, ...start.tuning };
  const peers = first.kind === 'new' ? [{ name, peerAddress }] : first.peers;
  const flags: readonly (readonly [string, string | number])[] = [
    ['name', name],
    ['data-dir', dir],
    ['listen-client-urls', url(clientAddress)],
    ['advertise-client-urls', url(clientAddress)],
    ['listen-peer-urls', url(peerAddress)],
    ['initial-advertise-peer-urls', url(peerAddress)],
    ['initial-cluster', peers.map((peer) => `${peer.name}=${url(peer.peerAddress)}`).join(',')],
    ['initial-cluster-state', first.kind === 'new' ? 'new' : 'existing'],
    ...(first.kind === 'new' ? [['initial-cluster-token', first.token] as const] : []),
    ['cert-file', tls.cert],
    ['key-file', tls.key],
    ['trusted-ca-file', tls.ca],
    ['client-cert-auth', 'true'],
    ['peer-cert-file', tls.cert],
    ['peer-key-file', tls.key],
    ['peer-trusted-ca-file', tls.ca],
    ['peer-client-cert-auth', 'true'],
    ['heartbeat-interval', tuning.heartbeatMs],
    ['election-timeout', tuning.electionMs],
    ['pre-vote', 'true'],
    ['quota-backend-bytes', tuning.quotaBytes],
    ['snapshot-count', tuning.snapshotCount],
    // A host may send from another address than it listens on; a certificate of the cluster identifies a member.
    [
      isAtLeast(version, 3, 6) ? 'peer-skip-client-san-verification' : 'experimental-peer-skip-client-san-verification',
      'true',
    ],
    ...(start.isAlone === true ? [['force-new-cluster', 'true'] as const] : []),
    ...(start.metricsAddress === undefined ? [] : [['listen-metrics-urls', `http://${start.metricsAddress}`] as const]),
    ['logger', 'zap'],
    ['log-outputs', 'stderr'],
  ];
  return flags.map(([flag, value]) => `--${flag}=${value}`);
}

const url = (address: string): string => `https://${address}`;

export function isAtLeast(version: string, major: number, minor: number): boolean {
  const [found = 0, below = 0] = version.split('.').map(Number);
  return found > major || (found === major && below >= minor);
}
