// The stored documents of a cluster: its members, keys, join tokens, and what it defines for all members.
import type { ConfigMap } from '../api/schema/common-schemas.ts';

export interface MemberDocument {
  readonly v: 1;
  /** Never changes, not even by rename, and is never reused: the host's records are stored under it. */
  readonly number: number;
  /** HOST:PORT where the other members reach it. */
  readonly address: string;
  readonly architecture: string;
  readonly joinedAt: string;
  /** The release of the member's last start. Absent: an older release wrote it. */
  readonly release?: string;
  /** It takes no new containers, and its own are elsewhere. */
  readonly evacuated?: boolean;
  /** A removal that loses nothing has begun: it may have left already. */
  readonly isLeaving?: boolean;
  readonly description?: string;
  readonly groups?: readonly string[];
  readonly failureDomain?: string;
  readonly config?: ConfigMap;
  /** PEM: identifies the member to its peers. */
  readonly certificate: string;
}

/** A group of members that a target can name; the members' records say who belongs to it. The group `default` needs no record. */
export interface MemberGroupDocument {
  readonly v: 1;
  readonly description: string;
}

/** One record, named `config`. */
export interface ClusterDocument {
  readonly v: 1;
  readonly uuid: string;
  /** The number of the next host that joins. */
  readonly nextNumber: number;
  /** The release that every member must have at least. */
  readonly minVersion: string;
  /** The certificate that all members serve and show to each other, in PEM form. Absent: the first one, which each has in its files. */
  readonly certificate?: { readonly certPem: string; readonly keyPem: string };
}

/** See server/membership/keys. */
export type KeyPhase = 'trust' | 'show' | 'drop' | 'done';

/** The keys of the cluster, sealed for each member, and the progress of their change. One record, named `current`. */
export interface ClusterKeysDocument {
  readonly v: 1;
  readonly generation: number;
  readonly phase: KeyPhase;
  /** Earlier generations that members may still trust, or show. */
  readonly trusted: readonly number[];
  /** The generation in use until all members trust the new one. */
  readonly shown: number;
  /** Base64 of all keys, encrypted with a key that each share holds. */
  readonly keyring: string;
  /** By the number of the member that can open the share. */
  readonly shares: Readonly<Record<string, string>>;
  /** All values are encrypted with this generation. */
  readonly rewritten?: boolean;
}

/** A pool or network of the whole cluster; each member has its own record, which realises it. */
export interface DefinitionDocument {
  readonly v: 1;
  /** Driver of a pool, type of a network. */
  readonly type: string;
  readonly description: string;
  /** Config that is the same on every member. */
  readonly config: ConfigMap;
  /** Config of single members, by number. */
  readonly overrides: Readonly<Record<string, ConfigMap>>;
  /** pending: only members were named so far; creating: the member with the number `by` asks the others to create it; deleted: members that
   *  were offline still have it, and delete it on their return. */
  readonly state: 'pending' | 'creating' | 'created' | 'deleted';
  readonly by?: number;
  /** The overrides of the pending one that a creation began with: they remain when it does not end well. */
  readonly before?: DefinitionDocument['overrides'];
}

/** Lets one host join, once. Stored under the host's name. */
export interface JoinTokenDocument {
  readonly v: 1;
  /** SHA-256 of the secret, hexadecimal. */
  readonly secretHash: string;
  readonly expiresAt: string;
  /** The member whose operation shows and withdraws it; absent in records of older releases. */
  readonly member?: number;
}

/** One record per member, named `config`: the member's own server settings. */
export interface MemberConfigDocument {
  readonly v: 1;
  readonly config: ConfigMap;
  readonly httpsDialect?: string;
}
