// The stored documents: everything the daemon must remember of each object. Services render wire objects from them.
import type { NetworkAclRule } from '../api/network/network-acl.ts';
import type { ConfigMap, DeviceMap } from '../api/schema/common-schemas.ts';

/** creating/deleting: a saga owns the object; it is visible, but nothing else may change it. */
export type Lifecycle = 'creating' | 'ready' | 'deleting';

/** What records of containers and of their snapshots have in common. */
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
  /** Never changes, also not by rename. */
  readonly uuid: string;
  /** Pool that holds the root volume. */
  readonly pool: string;
  /** The boot of the host during which its files were made, until they are on the disk. */
  readonly unsynced?: string;
}

/** What was written on the root volume; absent: nothing. Its size is in the devices. */
export interface RootVolumeDocument {
  readonly description: string;
  readonly config: ConfigMap;
}

/**
 * A snapshot of a container's record. Stored under `<uuid of the container>/<name>`, so that a rename of the container does not change
 * it.
 */
export interface SnapshotDocument extends ContainerFields {
  /** The zero time: never. */
  readonly expiresAt: string;
  /** Bytes that it holds; absent: nobody has measured it. */
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

/** Rules that networks name. */
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
  /** Never changes, also not by rename or move. */
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
  /** Bytes that it holds; absent: nobody has measured it. */
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
  /** Pools in which the project has unpacked it, maybe long ago; absent: not known. The copy there is shared by the projects. */
  readonly unpackedIn?: readonly string[];
  /** The server that may have a newer one; absent: the image has no such source. */
  readonly source?: ImageSourceDocument;
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
  /** A caller that is restricted to projects chose the server. */
  readonly isConfined?: boolean;
}

export interface AliasDocument {
  readonly v: 1;
  readonly description: string;
  readonly target: string;
}

export interface CertificateDocument {
  readonly v: 1;
  readonly type: string;
  readonly name: string;
  readonly pem: string;
  /** The only projects that its client may use; absent: all, and the server itself. */
  readonly projects?: readonly string[];
  /** Projects that were written beside `restricted: false`: shown, and what a later restriction begins with. They limit nothing. */
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
  /** The dialect that is spoken at core.https_address; absent: the daemon's own. */
  readonly httpsDialect?: string;
}

/** A host of the cluster, stored under its name. */
export interface MemberDocument {
  readonly v: 1;
  /** Never changes, also not by rename, and is not given again: records of the host are kept under it. */
  readonly number: number;
  /** HOST:PORT where the other members reach it. */
  readonly address: string;
  readonly architecture: string;
  readonly joinedAt: string;
  /** The release that the member ran at its last start. Absent: an older release wrote it. */
  readonly release?: string;
  /** It takes no new containers, and those that it had are elsewhere. */
  readonly evacuated?: boolean;
  readonly description?: string;
  readonly groups?: readonly string[];
  readonly failureDomain?: string;
  readonly config?: ConfigMap;
  /** PEM: the others know the member by it. */
  readonly certificate: string;
}

/** A group of members that a target can name; which members it has is in their records. The group `default` needs no record. */
export interface MemberGroupDocument {
  readonly v: 1;
  readonly description: string;
}

/** One record, named `config`. */
export interface ClusterDocument {
  readonly v: 1;
  readonly uuid: string;
  /** For the next host that joins. */
  readonly nextNumber: number;
  /** The release that every member must have at least. */
  readonly minVersion: string;
  /** The certificate that all members serve with and show to each other, in PEM form. Absent: the first one, which each has in its files. */
  readonly certificate?: { readonly certPem: string; readonly keyPem: string };
}

/** See server/membership/keys. */
export type KeyPhase = 'trust' | 'show' | 'drop' | 'done';

/** The keys of the cluster, sealed for each member, and how far their change is. One record, named `current`. */
export interface ClusterKeysDocument {
  readonly v: 1;
  readonly generation: number;
  readonly phase: KeyPhase;
  /** Generations before it that members may still trust, or show. */
  readonly trusted: readonly number[];
  /** The one that is used until all trust the new one. */
  readonly shown: number;
  /** Base64 of all keys, encrypted with a key that each share holds. */
  readonly keyring: string;
  /** By the number of the member that can open it. */
  readonly shares: Readonly<Record<string, string>>;
  /** No value is left that an earlier generation has encrypted, or none. */
  readonly rewritten?: boolean;
}

/** A pool or network as the whole cluster has it; each member has a record of its own that realises it. */
export interface DefinitionDocument {
  readonly v: 1;
  /** Driver of a pool, type of a network. */
  readonly type: string;
  readonly description: string;
  /** What holds on every member. */
  readonly config: ConfigMap;
  /** What holds on one, by its number. */
  readonly overrides: Readonly<Record<string, ConfigMap>>;
  /** pending: only members were named so far; creating: its members are being asked, by the one with the number `by`; deleted: members that
   *  were offline still have it, and delete it when they are back. */
  readonly state: 'pending' | 'creating' | 'created' | 'deleted';
  readonly by?: number;
}

/** Lets a host join, once. Stored under the name that the host gets. */
export interface JoinTokenDocument {
  readonly v: 1;
  /** SHA-256 of the secret, hexadecimal. */
  readonly secretHash: string;
  readonly expiresAt: string;
}

/** One record of each member, named `config`: settings of the server that are its own. */
export interface MemberConfigDocument {
  readonly v: 1;
  readonly config: ConfigMap;
  readonly httpsDialect?: string;
}

/** A record that a warning is about. Containers and volumes keep their uuid through renames; members are named by their number. */
export interface WarningEntityDocument {
  readonly kind: 'containers' | 'volumes' | 'networks' | 'pools' | 'images' | 'members';
  readonly name: string;
  readonly uuid?: string;
}

/** A state of this member that an administrator should know of. Stored under a uuid. */
export interface WarningDocument {
  readonly v: 1;
  /** As clients read it: a newer release may have types that this one does not know. */
  readonly type: string;
  readonly severity: string;
  readonly status: 'new' | 'acknowledged' | 'resolved';
  readonly entity?: WarningEntityDocument;
  readonly count: number;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
  readonly lastMessage: string;
  /** When it was seen last, or got its status. */
  readonly updatedAt: string;
}

/** A host change of several steps in progress; found at start only after a crash. */
export interface SagaDocument {
  readonly v: 1;
  readonly kind: string;
  /** To be read with saga-params.ts only. */
  readonly params: unknown;
  /** Version of the parameters. Absent: a release that did not number them. */
  readonly version?: number;
  readonly startedAt: string;
  /** Records that only this change may modify until it ends. Absent: an older release began it. */
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

export type Kind = keyof Documents;

export const kindNames = [
  'containers',
  'snapshots',
  'backups',
  'profiles',
  'networks',
  'networkAcls',
  'pools',
  'volumes',
  'volumeSnapshots',
  'images',
  'aliases',
  'certificates',
  'projects',
  'server',
  'sagas',
  'members',
  'cluster',
  'memberConfig',
  'clusterKeys',
  'joinTokens',
  'memberGroups',
  'poolDefinitions',
  'networkDefinitions',
  'warnings',
] as const satisfies readonly Kind[];
