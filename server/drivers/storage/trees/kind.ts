// What a storage driver that keeps volumes as directory trees of one place adds to driver.ts: how a tree is made, copied
// and removed there.
import type { ConfinedCommand } from '../../../lib/confined.ts';
import type {
  LimitForm,
  PoolResources,
  PoolSpec,
  StorageCapabilities,
  StorageDriver,
  SubvolumeStreams,
  VolumeShape,
} from '../driver.ts';
import type { TreeNames } from './names.ts';

/** What the driver lends to streams of subvolumes: see TreeStaging. */
export interface TreeTools {
  build(root: string, path: string, fill: (temporary: string) => Promise<void>): Promise<void>;
  scratch(root: string, work: (temporary: string) => Promise<void>): Promise<void>;
  /** Nothing else happens to the volume at the path meanwhile. */
  alone(path: string, work: () => Promise<void>): Promise<void>;
}

export interface TreeKind {
  readonly name: string;
  readonly capabilities: StorageCapabilities;
  /** Directory that holds the folders of layout.ts. */
  root(pool: PoolSpec): string;
  fillConfig(pool: PoolSpec): Promise<Record<string, string>>;
  createPool(pool: PoolSpec, signal: AbortSignal): Promise<void>;
  deletePool(pool: PoolSpec): Promise<void>;
  applyConfig(pool: PoolSpec, before: PoolSpec): Promise<void>;
  /** See StorageDriver.findPool. Absent: none is ever found. */
  readonly findPool?: (pool: PoolSpec) => Promise<Record<string, string>>;
  /** Makes the place usable; leftovers apart from `busy` paths are removed. */
  mountPool(pool: PoolSpec, busy: ReadonlySet<string>): Promise<void>;
  /** Default: the names of directories. */
  readonly names?: TreeNames;
  /** See StorageDriver.withFiles. Volumes, and what makeTree made, have their files without it. */
  readonly withFiles?: NonNullable<StorageDriver['withFiles']>;
  /** See StorageDriver.useMountOptions. */
  readonly useMountOptions?: (path: string, options: string | undefined) => Promise<void>;
  /** Default: those of the file system that the pool is on. */
  readonly resources?: (pool: PoolSpec) => Promise<PoolResources>;
  /** What a tree is like. Absent: all are alike. */
  readonly shapeOf?: (path: string) => Promise<VolumeShape>;
  /** A change that is answered is on the disk already, as far as the pool promises. */
  readonly isDurable?: boolean;
  /** An empty tree that only root may enter (mode 0700). On a throw of this and the next two the caller removes what is there. */
  makeTree(path: string, shape?: VolumeShape): Promise<void>;
  /** `to` is absent. `settled`: `from` does not change meanwhile; `guest`: a hostile process may change it. */
  copyTree(from: string, to: string, by: 'settled' | 'guest', signal: AbortSignal, shape?: VolumeShape): Promise<void>;
  /** As copyTree, from another file system; always as from a guest. */
  importTree(from: string, to: string, signal: AbortSignal, shape?: VolumeShape): Promise<void>;
  /** A copy that shares its files with `from`: for where neither is written to in place. Absent: copyTree is as cheap. */
  readonly shareTree?: (from: string, to: string, signal: AbortSignal) => Promise<void>;
  removeTree(path: string): Promise<void>;
  /** Begins the names of temporary files in pools that other members of a cluster use, too. */
  readonly tag?: () => string;
  /** Present when a snapshot is made in one atomic step, and dropped where it lies. Else they are copies like others. */
  readonly atomic?: {
    /** Whether such a step takes all that is in the tree; else it has to be copied, and its snapshot is one more such tree. */
    isWhole(path: string): Promise<boolean>;
    snapshot(from: string, to: string, signal: AbortSignal): Promise<void>;
    drop(path: string): Promise<void>;
    /** A snapshot that was made as a copy becomes one that cannot be changed. */
    seal(path: string): Promise<void>;
  };
  /** See StorageDriver.canLimit. */
  readonly canLimit?: (pool: PoolSpec) => boolean;
  /** See StorageDriver.usedBytes. */
  readonly usedIn?: (path: string) => Promise<number | undefined>;
  /** Undefined: no limit. See StorageDriver.limitVolume. */
  limitTree(path: string, bytes: number | undefined, how: LimitForm): Promise<void>;
  /** Limits in force, by folder and name (`custom/v1`). Present when `capabilities.quotas` is. */
  readonly limitsIn?: (root: string) => Promise<ReadonlyMap<string, number>>;
  /** See StorageDriver.subvolumes. */
  readonly subvolumes?: (tools: TreeTools) => SubvolumeStreams;
  /** Streams that the file system itself understands; present when `capabilities.nativeStreams` is. */
  readonly native?: {
    /** Throws NotSupported when streams cannot carry the tree whole, saying what to do. */
    check(path: string): Promise<void>;
    canSend(path: string): Promise<boolean>;
    /** `path` and `parent` are snapshots. What cannot build on that parent is sent whole. */
    send(path: string, parent: string | undefined): Promise<ConfinedCommand>;
    /** Makes one snapshot of a stream, at `temporary` or below it; its path. `kin`: the snapshots that it may build on. Throws DriverError when the
     *  stream is damaged or cut off, or what reading it throws. `strange`: see ImportForm. */
    receive(
      temporary: string,
      bytes: AsyncIterable<Buffer>,
      kin: () => Promise<readonly string[]>,
      signal: AbortSignal,
      strange?: boolean,
    ): Promise<string>;
    /** Puts what was received at `path`, as a snapshot that later streams may build on. */
    keep(received: string, path: string, signal: AbortSignal): Promise<void>;
    /** Makes a tree of it that is written to. */
    settle(received: string, to: string, signal: AbortSignal): Promise<void>;
    /** See StorageDriver.streamId. */
    idOf(path: string): Promise<string | undefined>;
  };
}

export const withFiles = <T>(kind: TreeKind, path: string, use: () => Promise<T>): Promise<T> =>
  kind.withFiles === undefined ? use() : kind.withFiles(path, use);
