// The contract of every storage driver: keep volumes of a pool. Knows nothing of records, operations or HTTP.

export interface PoolSpec {
  readonly name: string;
  readonly driver: string;
  readonly config: Readonly<Record<string, string>>;
}

export interface VolumeRef {
  readonly type: 'container' | 'image' | 'custom';
  readonly name: string;
  /** Applies at creation only. */
  readonly shape?: VolumeShape;
}

/** For drivers whose volumes have their own file systems; the pool's values apply to what is absent. */
export interface VolumeShape {
  readonly bytes?: number;
  /** It gets this size if it would get less: for files from elsewhere that fitted a volume of this size. */
  readonly minBytes?: number;
  readonly fileSystem?: string;
  /** For zfs: a block volume with a file system on it. */
  readonly isBlock?: boolean;
}

export interface SnapshotRef {
  readonly volume: VolumeRef;
  readonly snapshot: string;
}

/** Files of an image as kept by the daemon: a unified tarball, or metadata and root file system apart. */
export interface ImageFiles {
  readonly fingerprint: string;
  readonly metadataPath: string;
  /** Absent for a unified tarball. */
  readonly rootfsPath?: string;
  /** Its root file system has ACLs as LXD writes them: unpacking translates them for tar. */
  readonly kernelAcls?: true;
  /** The size of all files together when the image was stored. */
  readonly sizeBytes?: number;
}

export interface UnpackOptions {
  /** True: owners, device-free special files, extended attributes and access lists as in the image. False: all is the daemon's own. */
  readonly asRoot: boolean;
  /** Human text such as `42%`. */
  readonly progress?: (text: string) => void;
}

/**
 * Fills the existing empty directory `targetDir` with `rootfs/`, `metadata.yaml` and maybe `templates/`. Received, not imported:
 * driver families do not know one another. On a throw the caller removes what is in the directory.
 */
export type UnpackImage = (
  image: ImageFiles,
  targetDir: string,
  options: UnpackOptions,
  signal: AbortSignal,
) => Promise<void>;

export type VolumeSource =
  | { readonly kind: 'empty' }
  | { readonly kind: 'image'; readonly image: ImageFiles }
  | { readonly kind: 'copy'; readonly from: VolumeRef; readonly snapshot?: string }
  /** The directory of a volume or snapshot of another pool; the caller keeps it from being deleted meanwhile. */
  | { readonly kind: 'tree'; readonly path: string };

export type SnapshotSource =
  /** The volume as it is now. */
  | { readonly kind: 'now' }
  | { readonly kind: 'copy'; readonly from: SnapshotRef }
  | { readonly kind: 'tree'; readonly path: string };

export interface TreeRef {
  readonly volume: VolumeRef;
  readonly snapshot?: string;
  /** The volume as it was when `holdStill` gave this. */
  readonly moment?: string;
}

export type ExportForm =
  /** A PAX archive with members `PREFIX/…` (default `./…`) of everything in the volume's directory: owners, modes, times, hard links,
   *  holes, extended attributes, access lists, device nodes; no sockets. Any driver takes it. */
  | {
      readonly kind: 'tar';
      /** Relative, without trailing slash. */
      readonly prefix?: string;
      /** Names right in the volume's directory that stay out. */
      readonly without?: readonly string[];
      /** Leaves out the end mark, so that other members may follow. */
      readonly isPart?: boolean;
      /** What an id on disk is called in the stream; default: as on disk, which is as the container sees it where its root file
       *  system is mounted through its id map. */
      readonly ownerOf?: (kind: 'uid' | 'gid', id: number) => number;
    }
  /** What drivers whose `nativeStreams` is the same understand. With `parent`, a snapshot of the same volume: only what differs. */
  | { readonly kind: 'native'; readonly parent?: string };

/** `replace`: in the place of the volume that is there, which must be unused; its limit has to be set again. */
export type ImportForm = { readonly replace?: boolean } & StreamForm;

type StreamForm =
  /** The names of all members begin with `prefix`, which is left out. `strange`: the sender is not trusted, though nothing is
   *  ever written outside of the new volume; a device node is not kept then, apart from 0:0, which layered file systems use. */
  | { readonly kind: 'tar'; readonly prefix?: string; readonly strange?: boolean }
  /** From a trusted sender: a stream can be made so that it writes elsewhere. Its parent, a snapshot of the same volume, was imported
   *  here before. `strange`: the sender is not trusted with device nodes: a stream with any but 0:0 is Invalid. */
  | { readonly kind: 'native'; readonly strange?: boolean };

/** A tree that will become a snapshot or volume; nothing else uses it yet. */
export interface ChangingTree {
  readonly path: string;
  /** Unpacks a whole tar stream over what is there. The caller has judged the names of its members. */
  unpack(bytes: AsyncIterable<Buffer>): Promise<void>;
}

export interface PoolResources {
  readonly space: { readonly used: number; readonly total: number };
  readonly inodes: { readonly used: number; readonly total: number };
}

export interface StorageCapabilities {
  /** Copies of a volume share its blocks. */
  readonly cheapCopies: boolean;
  /** Volumes can be limited in size; see `canLimit`. */
  readonly quotas: boolean;
  readonly snapshots: boolean;
  /** Each volume has a file system of its own, which is synced alone. */
  readonly ownFileSystems?: boolean;
  /** What streams of its own kind are called (`btrfs`); absent: it only has tar. */
  readonly nativeStreams?: string;
}

export interface LimitForm {
  /** A volume that holds more already is refused (Invalid); else it can only shrink until it fits. */
  readonly mustHold?: boolean;
  /** What its snapshots hold does not count. Absent: as the pool says. Only zfs knows the difference. */
  readonly withoutSnapshots?: boolean;
}

/** The tree itself has the path `/`. */
export interface Subvolume {
  readonly path: string;
  readonly isReadonly: boolean;
}

/** A tree that does not change while it is sent. */
export interface HeldTree {
  /** What holds another one comes before it. */
  readonly subvolumes: readonly Subvolume[];
  /** Streams the subvolume at `path`: all of it, or what differs from that of the same path in `parent`. */
  stream(path: string, parent: HeldTree | undefined, consume: Consume): Promise<void>;
}

/** Native streams of trees with the subvolumes that guests made in them: one stream for each. */
export interface SubvolumeStreams {
  /** Runs `use` with these trees of a volume, all there until it ends; the caller keeps them from being deleted. NotFound. */
  send(
    pool: PoolSpec,
    trees: readonly TreeRef[],
    use: (held: readonly HeldTree[]) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Makes snapshots of a new volume, then the volume, of streams of a trusted sender: each all or nothing. `next`: the stream of the next
   *  subvolume. `settle`: changes a tree before it is in its place. Exists, or as importVolume. */
  receive(
    pool: PoolSpec,
    trees: readonly { readonly to: TreeRef; readonly subvolumes: readonly Subvolume[] }[],
    next: () => { readonly bytes: AsyncIterable<Buffer>; drain(): Promise<void> },
    settle: (path: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
}

type Consume = (bytes: AsyncIterable<Buffer>) => Promise<void>;

export interface StorageDriver {
  readonly name: string;
  readonly capabilities: StorageCapabilities;
  /** Resolves when no work continues in the background. */
  close?(): Promise<void>;
  /** The config with driver defaults filled in (for example `source`). Throws DriverError Invalid with path and remedy. */
  fillConfig(pool: PoolSpec): Promise<Record<string, string>>;
  /** Idempotent; refuses a source that holds foreign data (DriverError InUse). */
  createPool(pool: PoolSpec, signal: AbortSignal): Promise<void>;
  /** Removes only what createPool and volumes made. Idempotent. */
  deletePool(pool: PoolSpec): Promise<void>;
  /** Applies the config to a pool in use, which has had the config of `before`. Throws Invalid when the host refuses it; then nothing
   *  has changed. */
  applyConfig(pool: PoolSpec, before: PoolSpec): Promise<void>;
  /** At daemon start: makes the pool usable and removes half-made volumes of a crash (temporary names). */
  mountPool(pool: PoolSpec): Promise<void>;
  /** The config of a pool that is there already, found by its `source`. Changes nothing. NotFound: there is none. */
  findPool(pool: PoolSpec): Promise<Record<string, string>>;
  /** Directory in the pool for copies of the records about it; it is there while the pool is mounted. */
  recordsPath(pool: PoolSpec): string;
  resources(pool: PoolSpec): Promise<PoolResources>;
  /** Host directory of the volume; containers have `rootfs/` (and maybe `metadata.yaml`, `templates/`) in it. */
  volumePath(pool: PoolSpec, volume: VolumeRef): string;
  hasVolume(pool: PoolSpec, volume: VolumeRef): Promise<boolean>;
  /** All or nothing: a volume that exists is complete. Exists already -> DriverError Exists. `progress`: human text. */
  createVolume(
    pool: PoolSpec,
    volume: VolumeRef,
    source: VolumeSource,
    progress: (text: string) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Deletes it and its snapshots. Idempotent. */
  deleteVolume(pool: PoolSpec, volume: VolumeRef): Promise<void>;
  /** Renames it and its snapshots. Idempotent: done already (old absent, new there) is success. */
  renameVolume(pool: PoolSpec, volume: VolumeRef, newName: string): Promise<void>;
  listVolumes(pool: PoolSpec): Promise<readonly VolumeRef[]>;
  /** Whether limits of volumes hold in the pool, as found when it was made or mounted. Absent: as in all pools of the driver. */
  readonly canLimit?: (pool: PoolSpec) => boolean;
  /** Bytes that the volume uses, if known without reading it. */
  readonly usedBytes?: (pool: PoolSpec, volume: VolumeRef) => Promise<number | undefined>;
  /** Limits a volume, now and while it is in use; undefined: no limit. Throws NotSupported where none holds. */
  limitVolume(pool: PoolSpec, volume: VolumeRef, bytes: number | undefined, how?: LimitForm): Promise<void>;
  /** The limits in force. Absent without the capability. */
  readonly limitsIn?: (pool: PoolSpec) => Promise<(volume: VolumeRef) => number | undefined>;
  /** The mount options of a volume with a file system of its own, now and as long as the daemon runs; undefined: those of the pool.
   *  Invalid. */
  readonly useMountOptions?: (pool: PoolSpec, volume: VolumeRef, options: string | undefined) => Promise<void>;
  /** Host directory of the snapshot, built like that of its volume. Its files are there within `withFiles`. */
  snapshotPath(pool: PoolSpec, snapshot: SnapshotRef): string;
  /** Runs `use` while the files at the path, that of a volume or snapshot, are there. Absent: they always are. Other paths just pass. */
  readonly withFiles?: <T>(path: string, use: () => Promise<T>) => Promise<T>;
  /** All or nothing; the volume may be in use. Exists already -> Exists; no such volume -> NotFound. */
  createSnapshot(pool: PoolSpec, snapshot: SnapshotRef, source: SnapshotSource, signal: AbortSignal): Promise<void>;
  /** The volume becomes as the snapshot is: all or nothing, also over a crash. Nobody may be using the volume. Its limit has to be
   *  set again; one with a file system of its own gets the size of the volume's shape, Invalid if its files do not fit. Idempotent. */
  restoreSnapshot(pool: PoolSpec, snapshot: SnapshotRef, signal: AbortSignal): Promise<void>;
  /** Idempotent. */
  deleteSnapshot(pool: PoolSpec, snapshot: SnapshotRef): Promise<void>;
  /** Idempotent, as renameVolume. */
  renameSnapshot(pool: PoolSpec, snapshot: SnapshotRef, newName: string): Promise<void>;
  /** Names; empty when there is no such volume. */
  listSnapshots(pool: PoolSpec, volume: VolumeRef): Promise<readonly string[]>;
  /**
   * Runs `use` with the volume as it is at this moment, to be exported and then let go. `isStill`: whatever happens to the volume
   * meanwhile, it stays so; else exports meet the volume as it then is, which must not be deleted, renamed or replaced. NotFound.
   */
  holdStill(
    pool: PoolSpec,
    volume: VolumeRef,
    use: (held: { readonly from: TreeRef; readonly path: string; readonly isStill: boolean }) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Streams a volume or snapshot out, for another pool or host. The volume may be in use: a driver with atomic snapshots streams
   * one, others what they meet; nobody hostile in it leads out of it. The caller keeps it from being deleted or renamed meanwhile.
   * `consume` must read to the end, where failures show. NotFound, NotSupported (no native streams), or what `consume` throws.
   */
  exportVolume(pool: PoolSpec, from: TreeRef, form: ExportForm, consume: Consume, signal: AbortSignal): Promise<void>;
  /**
   * Makes a volume, or a snapshot (also of a volume that is not there yet), of such a stream: all or nothing. Exists, NotSupported,
   * NoSpace, or what reading `bytes` throws; Failed when the stream is damaged. A tar stream may be read less than to its end.
   */
  importVolume(
    pool: PoolSpec,
    to: TreeRef,
    bytes: AsyncIterable<Buffer>,
    form: ImportForm,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Makes `to`, a new snapshot or a volume once more, of what `change` makes of a copy of `from`: all or nothing, also over a crash.
   * Nobody may be using the volume; its limit has to be set again. Exists, NotFound, NoSpace, Failed because of what `change` throws.
   */
  deriveVolume(
    pool: PoolSpec,
    from: TreeRef,
    to: TreeRef,
    change: (tree: ChangingTree) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Whether native streams carry the tree whole; else it goes as tar. */
  hasNativeForm(pool: PoolSpec, from: TreeRef): Promise<boolean>;
  /** Absent: the driver has no subvolumes. */
  readonly subvolumes?: SubvolumeStreams;
  /** Two snapshots with the same id, also of different hosts, are the same to native streams: either can be the parent. */
  streamId(pool: PoolSpec, snapshot: SnapshotRef): Promise<string | undefined>;
}
