// What the parts of a driver over trees share.
import type { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import { type DriverError, driverErrors } from '../../driver-error.ts';
import type { PoolSpec, TreeRef } from '../driver.ts';
import { treePathIn } from '../layout.ts';
import type { TreeKind } from './kind.ts';
import type { TreeSnapshots } from './snapshots.ts';
import type { TreeStaging } from './staging.ts';

export interface TreeDeps {
  readonly kind: TreeKind;
  readonly staging: TreeStaging;
  /** Held per path of a volume. */
  readonly mutex: KeyedMutex;
  readonly asRoot: boolean;
  readonly swapIn: TreeSnapshots['swapIn'];
  readonly dropUnused: TreeSnapshots['dropUnused'];
}

/** Where the tree is, or was held still. */
export const pathOfTree = (kind: TreeKind, pool: PoolSpec, tree: TreeRef): string =>
  tree.moment ?? treePathIn(kind.root(pool), tree);

export const noNative = (pool: PoolSpec): DriverError =>
  driverErrors.notSupported(`the driver of pool ${pool.name} has no streams of its own; use tar`);

export function labelOf({ volume, snapshot }: TreeRef): string {
  const name = `${volume.type} volume ${volume.name}`;
  return snapshot === undefined ? name : `snapshot ${snapshot} of ${name}`;
}
