// The dependencies of the use cases of clusters.
import type { ServiceParts } from '../shared/service-parts.ts';
import type { ServingCertificate } from '../../auth/serving-certificate.ts';
import type { Attempts } from '../../lib/shared/attempts.ts';
import type { MemberIdentity } from '../../membership/keys/identity.ts';
import type { ClusterKeys } from '../../membership/keys/cluster-keys.ts';
import type { ClusterStore } from '../../membership/membership.ts';
import type { ClusterAccepted } from '../../api/cluster/cluster.ts';
import type { KeyChange } from './keys/key-change.ts';
import type { MemberImages } from '../images/member-images.ts';
import type { Store } from '../../store/store.ts';

/** A store of a cluster that this host has opened, and does not use yet. */
export interface OpenedClusterStore {
  readonly store: Store;
  /** Throws StoreError Invalid when it holds records. */
  begin(): Promise<void>;
  finish(): Promise<void>;
  /** From now on it is the store of the daemon. */
  use(): void;
  /** It is not used. */
  abandon(): Promise<void>;
}

/** The store of a host on its own that is being filled. */
export interface OpenedSingleStore {
  readonly store: Store;
  /** From now on it is the store of the daemon; when it resolves, nothing of the former one comes any more. */
  use(): Promise<void>;
  abandon(): Promise<void>;
}

/** Where a host that leaves its cluster keeps its records. */
export interface SingleStores {
  /** An empty one, which counts once the host is no member any more. */
  begin(): Promise<OpenedSingleStore>;
}

/** What a member can do to the writes of another one. */
export interface MemberFence {
  /** When it resolves, the member with this number writes nothing more. */
  fenceOut(member: number): Promise<void>;
}

/** Where stores of clusters come from: an etcd that was given, or one that daemons run themselves. */
export interface ClusterStores {
  /** An empty one for a new cluster, whose first member is at this address. */
  found(address: string): Promise<ClusterStore>;
  open(store: ClusterStore, member: number): Promise<OpenedClusterStore>;
  /** What another host needs to open it. */
  share(store: ClusterStore): Promise<ClusterAccepted['store']>;
  /** Keeps what this host was told; its files are for root only. */
  keep(shared: ClusterAccepted['store'], address: string): Promise<ClusterStore>;
  /** The other members keep the records without this host, whose address among them this is. Throws when they cannot. */
  withdraw(memberAddress: string): Promise<void>;
  /** This host is in no cluster any more. */
  forget(): Promise<void>;
}

export interface ClusterUseCaseDeps extends Pick<
  ServiceParts,
  'records' | 'cluster' | 'operations' | 'events' | 'clock' | 'log'
> {
  readonly stateDir: string;
  readonly stores: ClusterStores;
  readonly single: SingleStores;
  readonly fence: MemberFence;
  readonly certificates: ServingCertificate;
  readonly identity: MemberIdentity;
  readonly keys: ClusterKeys;
  readonly keyChange: KeyChange;
  readonly attempts: Attempts;
  /** Kernel architecture of this host. */
  readonly architecture: string;
  /** What only a member that leaves has is copied first. */
  readonly images: Pick<MemberImages, 'bringAllOf'>;
  /** What the member at this address has of the records; undefined: that is not known, or other hosts keep them. */
  readonly etcdRoleOf: (address: string) => 'vote' | 'copy' | 'none' | undefined;
  /** The release of this daemon. */
  readonly version: string;
  /** Opens or closes the listener for the other members: at this address, or none. */
  readonly listen: (address: string | undefined) => Promise<void>;
  /** The host has become a member: what every member does from its start on begins. */
  readonly becameMember: () => Promise<void>;
}
