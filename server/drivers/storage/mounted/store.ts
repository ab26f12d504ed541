// The contract of a store that keeps trees under their names: logical volumes, or datasets.
import type { PoolSpec } from '../driver.ts';

/** `id`: the path of a tree below the place of its pool, such as `containers/web` or `containers-snapshots/web/monday`. */
export interface StoredTree {
  readonly id: string;
}

/** Each change is one atomic step, and on the disk when it resolves. Throws DriverError. */
export interface TreeStore<Entry extends StoredTree = StoredTree> {
  list(pool: PoolSpec): Promise<readonly Entry[]>;
  has(pool: PoolSpec, id: string): Promise<boolean>;
  rename(pool: PoolSpec, from: string, to: string): Promise<void>;
  /** Succeeds if there is none. Throws InUse. */
  remove(pool: PoolSpec, id: string): Promise<void>;
}
