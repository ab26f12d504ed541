// The contract for fetching images from other servers: finds one there, then fetches its files, verified. Knows nothing of records,
// operations or HTTP listeners.
import type { Reach } from '../../lib/reach.ts';

/** svc: a server that speaks this API (spec 4.8); direct: one address that names the image in its answer. */
export type RemoteProtocol = 'svc' | 'simplestreams' | 'direct';

export interface RemoteServer {
  /** Address of the server; of the image itself for `direct`. */
  readonly server: string;
  readonly protocol: RemoteProtocol;
  /** PEM: only this certificate is accepted. Empty: the host's authorities decide. */
  readonly certificate: string;
}

export interface ImageRequest {
  /** Overrides `fingerprint`. Both are empty only for `direct`. */
  readonly alias: string;
  /** Or a prefix of it. */
  readonly fingerprint: string;
  /** Grants access to a private image. */
  readonly secret: string;
  /** The project on a server that speaks this API; empty: default. */
  readonly project: string;
  /** Architectures that this host can run, best first; an alias may name one image per architecture. */
  readonly architectures: readonly string[];
  /** Requires an index newer than the cached one. */
  readonly fresh: boolean;
  /** Limits which addresses connections and redirects may reach; absent: any. */
  readonly reach?: Reach | undefined;
}

export interface ImageTarget {
  readonly metadataPath: string;
  /** Written only for a split image. */
  readonly rootfsPath: string;
  /** Called with the size of each piece; throws if it exceeds the limit. */
  readonly take?: (bytes: number) => void;
}

export interface RemoteImage {
  /** The full SHA-256 in hex. */
  readonly fingerprint: string;
  readonly filename: string;
  /** undefined: those of its metadata.yaml. */
  readonly properties: Readonly<Record<string, string>> | undefined;
  readonly aliases: readonly { readonly name: string; readonly description: string }[];
  /** RFC 3339; undefined: as in its metadata.yaml. */
  readonly expiresAt: string | undefined;
  /** Writes the files, which must not exist, and checks them against the fingerprint. Throws Invalid (another image than announced),
   *  NoSpace, Failed or the reason of the abort, after deleting the files. `report` gets text such as `12% (3.40MB/s)`. */
  fetch(
    target: ImageTarget,
    report: (progress: string) => void,
    signal: AbortSignal,
  ): Promise<{ readonly split: boolean }>;
}

export interface Remotes {
  /** Throws NotFound, Invalid (address, certificate, answer), Failed (connection), or the reason of the abort. */
  find(server: RemoteServer, wanted: ImageRequest, signal: AbortSignal): Promise<RemoteImage>;
}

export interface RemoteLimits {
  readonly connectMs: number;
  /** Limit until an answer begins; for documents until it ends. */
  readonly answerMs: number;
  /** In each such span at least `paceBytes` of a file must arrive. */
  readonly paceMs: number;
  readonly paceBytes: number;
  readonly redirects: number;
  readonly documentBytes: number;
  readonly indexBytes: number;
}

export const defaultLimits: RemoteLimits = {
  connectMs: 10_000,
  answerMs: 60_000,
  paceMs: 60_000,
  paceBytes: 64 * 1024,
  redirects: 5,
  documentBytes: 4 * 1024 * 1024,
  indexBytes: 32 * 1024 * 1024,
};
