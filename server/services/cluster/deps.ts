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

/** An open store of a cluster that this host does not use yet. */
export interface OpenedClusterStore {
  readonly store: Store;
  /** Throws StoreError Invalid if it holds records. */
  begin(): Promise<void>;
  finish(): Promise<void>;
  /** Makes it the daemon's store. */
  use(): void;
  /** Closes it unused. */
  abandon(): Promise<void>;
}

/** The new store of a host that leaves its cluster, during its import. */
export interface OpenedSingleStore {
  readonly store: Store;
  /** Makes it the daemon's store; resolves when no change of the former store can arrive any more. */
  use(): Promise<void>;
  abandon(): Promise<void>;
}

/** Where a host that leaves its cluster keeps its records. */
export interface SingleStores {
  /** An empty store, used once the host is no member any more. */
  begin(): Promise<OpenedSingleStore>;
}

export interface MemberFence {
  /** Resolves once the member with this number can write nothing more. */
  fenceOut(member: number): Promise<void>;
}

/** Opens stores of clusters: in a configured etcd, or in one that daemons run themselves. */
export interface ClusterStores {
  /** An empty store for a new cluster, whose first member is at this address. */
  found(address: string): Promise<ClusterStore>;
  open(store: ClusterStore, member: number): Promise<OpenedClusterStore>;
  /** The description by which another host opens it. */
  share(store: ClusterStore): Promise<ClusterAccepted['store']>;
  /** Saves the description that this host received; only root can read the files. */
  keep(shared: ClusterAccepted['store'], address: string): Promise<ClusterStore>;
  /** The other members keep the records without the host at this member address. Throws if they cannot. */
  withdraw(memberAddress: string): Promise<void>;
  /** Forgets the cluster of a host that left it. */
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
  /** Images that only a leaving member has are copied first. */
  readonly images: Pick<MemberImages, 'fetchAllOf'>;
  /** The role of the member at this address in keeping the records; undefined: unknown, or other hosts keep them. */
  readonly etcdRoleOf: (address: string) => 'vote' | 'copy' | 'none' | undefined;
  readonly version: string;
  /** Opens the listener for the other members at this address, or closes it. */
  readonly listen: (address: string | undefined) => Promise<void>;
  /** Called when the host has become a member: starts every member's regular work. */
  readonly becameMember: () => Promise<void>;
}
