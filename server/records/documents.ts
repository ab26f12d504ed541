// The stored documents: everything the daemon must remember of each object. Services render wire objects from them.
import type { NetworkAclRule } from '../api/network/network-acl.ts';
import type { ConfigMap, DeviceMap } from '../api/schema/common-schemas.ts';
import type {
  ClusterDocument,
  ClusterKeysDocument,
  DefinitionDocument,
  JoinTokenDocument,
  MemberConfigDocument,
  MemberDocument,
  MemberGroupDocument,
} from './cluster-documents.ts';

/** creating/deleting: a saga owns the object; it is visible, but nothing else may change it. */
export type Lifecycle = 'creating' | 'ready' | 'deleting';

interface ContainerFields {
  readonly v: 1;
  readonly architecture: string;
  readonly profiles: readonly string[];
  readonly ephemeral: boolean;
  /** Local config with the server-kept volatile.* and image.* keys. */
  readonly config: ConfigMap;
  readonly devices: DeviceMap;
  readonly description: string;
  readonly createdAt: string;
  readonly lastUsedAt: string;
  readonly stateful: boolean;
  readonly volume?: RootVolumeDocument;
  readonly lifecycle: Lifecycle;
}

export interface ContainerDocument extends ContainerFields {
  /** Never changes, not even by rename. */
  readonly uuid: string;
  /** Pool that holds the root volume. */
  readonly pool: string;
  /** The boot id of the host that wrote its files, until they are synced to the disk. */
  readonly unsynced?: string;
}

/** What was set on the root volume; absent: nothing. Its size is in the devices. */
export interface RootVolumeDocument {
  readonly description: string;
  readonly config: ConfigMap;
}

/** A snapshot of a container's record. Stored under `<uuid of the container>/<name>`, so that a rename of the container does not affect it. */
export interface SnapshotDocument extends ContainerFields {
  /** The zero time: never. */
  readonly expiresAt: string;
  /** Its size in bytes; absent: not measured. */
  readonly sizeBytes?: number;
}

export interface ProfileDocument {
  readonly v: 1;
  readonly description: string;
  readonly config: ConfigMap;
  readonly devices: DeviceMap;
}

export interface NetworkDocument {
  readonly v: 1;
  readonly description: string;
  readonly type: 'bridge';
  readonly config: ConfigMap;
  readonly lifecycle: Lifecycle;
}

export interface NetworkAclDocument {
  readonly v: 1;
  readonly description: string;
  readonly config: ConfigMap;
  readonly ingress: readonly NetworkAclRule[];
  readonly egress: readonly NetworkAclRule[];
}

export interface PoolDocument {
  readonly v: 1;
  readonly description: string;
  readonly driver: string;
  readonly config: ConfigMap;
  readonly lifecycle: Lifecycle;
}

/** A custom storage volume. Stored under `<pool>/<name>`. */
export interface VolumeDocument {
  readonly v: 1;
  /** Never changes, not even by rename or move. */
  readonly uuid: string;
  readonly description: string;
  readonly config: ConfigMap;
  readonly createdAt: string;
  readonly lifecycle: Lifecycle;
}

/** A backup of a container or custom volume. Stored under `<uuid of that>/<name>`. */
export interface BackupDocument {
  readonly v: 1;
  /** Name of its file in the daemon's directory of backups; unchanged by renames. */
  readonly file: string;
  readonly createdAt: string;
  /** The zero time: never. */
  readonly expiresAt: string;
  /** Without its snapshots. */
  readonly containerOnly: boolean;
  readonly optimizedStorage: boolean;
  /** Size of the file; 0 while it is being made. */
  readonly sizeBytes: number;
  readonly lifecycle: Lifecycle;
}

/** Stored under `<uuid of the volume>/<name>`. */
export interface VolumeSnapshotDocument extends Omit<VolumeDocument, 'uuid'> {
  /** The zero time, or absent: never. */
  readonly expiresAt?: string;
  /** Its size in bytes; absent: not measured. */
  readonly sizeBytes?: number;
}

export interface ImageDocument {
  readonly v: 1;
  readonly architecture: string;
  readonly filename: string;
  readonly properties: ConfigMap;
  readonly public: boolean;
  readonly autoUpdate: boolean;
  readonly cached: boolean;
  readonly sizeBytes: number;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly lastUsedAt: string;
  readonly uploadedAt: string;
  /** Root file system in a separate file. */
  readonly split: boolean;
  /** Its root file system has ACLs as LXD writes them, which tar cannot read. */
  readonly kernelAcls?: true;
  /** Pools in which the project has unpacked it, maybe long ago; absent: not known. Projects share the copy there. */
  readonly unpackedIn?: readonly string[];
  /** The server that may have a newer version; absent: the image has no such source. */
  readonly source?: ImageSourceDocument;
  /** Another member has replaced it with a newer version: this member deletes its copy. */
  readonly isReplaced?: true;
  readonly lifecycle: Lifecycle;
}

export interface ImageSourceDocument {
  readonly server: string;
  readonly protocol: string;
  /** PEM; empty: the certificate authorities of this host verify the server. */
  readonly certificate: string;
  readonly alias: string;
  /** The project of that server; absent: default. */
  readonly project?: string;
  /** A caller restricted to projects chose the server. */
  readonly isConfined?: boolean;
}

export interface AliasDocument {
  readonly v: 1;
  readonly description: string;
  readonly target: string;
}

/** Lets one client add its certificate, once. Stored under the SHA-256 of its secret, hexadecimal. */
export interface TrustTokenDocument extends Pick<CertificateDocument, 'v' | 'name' | 'projects' | 'listed'> {
  /** Absent: it does not expire. */
  readonly expiresAt?: string;
  /** The member whose operation shows and withdraws it; absent: the host is in no cluster. */
  readonly member?: number;
}

export interface CertificateDocument {
  readonly v: 1;
  readonly type: string;
  readonly name: string;
  readonly pem: string;
  /** The only projects that its client may use; absent: all, and the server itself. */
  readonly projects?: readonly string[];
  /** Projects sent together with `restricted: false`: shown, and the initial list of a later restriction. They restrict nothing. */
  readonly listed?: readonly string[];
}

/** Objects of a project are stored by names that hold the project's (`qualifiedName`). */
export interface ProjectDocument {
  readonly v: 1;
  readonly description: string;
  readonly config: ConfigMap;
  readonly lifecycle: Lifecycle;
}

/** One record, named `config`. Values as stored: strings; hidden ones hashed. */
export interface ServerDocument {
  readonly v: 1;
  readonly config: ConfigMap;
  /** The dialect served at core.https_address; absent: the daemon's own. */
  readonly httpsDialect?: string;
}

/** A record that a warning is about. Containers and volumes are named by their uuid, members by their number, so that renames do not
 *  matter. */
export interface WarningEntityDocument {
  readonly kind: 'containers' | 'volumes' | 'networks' | 'pools' | 'images' | 'members';
  readonly name: string;
  readonly uuid?: string;
}

/** A state of this member that an administrator should know of. Stored under a uuid. */
export interface WarningDocument {
  readonly v: 1;
  /** As sent to clients: a newer release may have types that this one lacks. */
  readonly type: string;
  readonly severity: string;
  readonly status: 'new' | 'acknowledged' | 'resolved';
  readonly entity?: WarningEntityDocument;
  readonly count: number;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
  readonly lastMessage: string;
  /** When it was last seen, or got its status. */
  readonly updatedAt: string;
}

/** A host change of several steps in progress; a start finds one only after a crash. */
export interface SagaDocument {
  readonly v: 1;
  readonly kind: string;
  /** Read it through saga-params.ts only. */
  readonly params: unknown;
  /** Version of the parameters. Absent: written by a release that did not number them. */
  readonly version?: number;
  readonly startedAt: string;
  /** Records that only this change may modify until it ends. Absent: written by an older release. */
  readonly holds?: readonly { readonly kind: Kind; readonly name: string }[];
}

export interface Documents {
  readonly containers: ContainerDocument;
  readonly snapshots: SnapshotDocument;
  readonly backups: BackupDocument;
  readonly profiles: ProfileDocument;
  readonly networks: NetworkDocument;
  readonly networkAcls: NetworkAclDocument;
  readonly pools: PoolDocument;
  readonly volumes: VolumeDocument;
  readonly volumeSnapshots: VolumeSnapshotDocument;
  readonly images: ImageDocument;
  readonly aliases: AliasDocument;
  readonly certificates: CertificateDocument;
  readonly trustTokens: TrustTokenDocument;
  readonly projects: ProjectDocument;
  readonly server: ServerDocument;
  readonly sagas: SagaDocument;
  readonly members: MemberDocument;
  readonly cluster: ClusterDocument;
  readonly memberConfig: MemberConfigDocument;
  readonly clusterKeys: ClusterKeysDocument;
  readonly joinTokens: JoinTokenDocument;
  readonly memberGroups: MemberGroupDocument;
  readonly poolDefinitions: DefinitionDocument;
  readonly networkDefinitions: DefinitionDocument;
  readonly warnings: WarningDocument;
}

/** `version`: the newest that this release reads. `isOfMember`: each member of a cluster has its own, as of the objects on its host; else
 *  the members share them. */
interface KindFacts {
  readonly version: number;
  readonly isOfMember: boolean;
}
const ofMember: KindFacts = { version: 1, isOfMember: true };
const shared: KindFacts = { version: 1, isOfMember: false };

export const recordKinds = {
  containers: ofMember,
  snapshots: ofMember,
  backups: ofMember,
  profiles: shared,
  networks: ofMember,
  networkAcls: shared,
  pools: ofMember,
  volumes: ofMember,
  volumeSnapshots: ofMember,
  images: ofMember,
  aliases: shared,
  certificates: shared,
  trustTokens: shared,
  projects: shared,
  server: shared,
  sagas: ofMember,
  members: shared,
  cluster: shared,
  memberConfig: ofMember,
  clusterKeys: shared,
  joinTokens: shared,
  memberGroups: shared,
  poolDefinitions: shared,
  networkDefinitions: shared,
  warnings: ofMember,
} as const satisfies { readonly [K in keyof Documents]: KindFacts };

export type Kind = keyof Documents;
export const kindNames = Object.keys(recordKinds) as readonly Kind[];
