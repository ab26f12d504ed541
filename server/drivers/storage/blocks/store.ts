// The contract of what keeps the volumes of a pool as block devices, such as logical volumes or images of RBD; blocks.ts puts file systems on them.
import type { PoolSpec } from '../driver.ts';
import type { StoredTree, TreeStore } from '../mounted/store.ts';

export interface BlockVolume extends StoredTree {
  readonly bytes: number;
  /** A change of its size was begun and not ended. */
  readonly isResizing: boolean;
}

/** Each change is one atomic step, and on the disk when it resolves. Throws DriverError. */
export interface BlockStore extends TreeStore<BlockVolume> {
  find(pool: PoolSpec, id: string): Promise<BlockVolume | undefined>;
  /** Whether a clone shares the blocks of its origin. Where it does not, there are no clones: files are copied. */
  canClone(pool: PoolSpec): boolean;
  /** Whether copies of the volume have files of their own although it can be cloned. Absent: none. */
  copiesFiles?(pool: PoolSpec, id: string): boolean;
  /** Blocks of new volumes read as zeros. */
  readsZeros(pool: PoolSpec): boolean;
  /** Rounds the size up to what the store can make. NoSpace. */
  create(pool: PoolSpec, id: string, bytes: number, signal?: AbortSignal): Promise<void>;
  /** As `from` is at one moment, with its file system at rest, which is `mountedAt` that path to be written to. */
  clone(pool: PoolSpec, from: string, to: string, mountedAt?: string): Promise<void>;
  /** Notes that the size is being changed, so that the next mount of the pool makes the file system fit. */
  beginResize(pool: PoolSpec, id: string): Promise<void>;
  resize(pool: PoolSpec, id: string, bytes: number): Promise<void>;
  endResize(pool: PoolSpec, id: string): Promise<void>;
  /** The size that `create` and `resize` make of this one. */
  rounded(pool: PoolSpec, bytes: number): number;
  /** Makes the block device usable; its path. */
  open(pool: PoolSpec, id: string): Promise<string>;
  /** The end of that, when nothing is mounted on it. Absent: devices stay. */
  close?(pool: PoolSpec, id: string): Promise<void>;
  /** Whether what is mounted has its device still. Absent: it has. */
  isOpen?(pool: PoolSpec, id: string): Promise<boolean>;
}
