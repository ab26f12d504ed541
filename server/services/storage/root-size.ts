// The size of a container's root disk, and applying it to the volume in the pool.
import { parseBytes } from '../../api/text/byte-size.ts';
import type { DeviceMap } from '../../api/schema/common-schemas.ts';
import { rootDisk } from '../../api/devices/index.ts';
import type { Pools } from './pools.ts';

/** The alternatives to a pool that cannot limit. */
export const limitingPools =
  'a pool of driver btrfs, lvm, zfs or ceph, or of driver dir on ext4 or xfs with project quotas (mount option prjquota)';

/** Undefined: no limit. */
export function rootSize(devices: DeviceMap): number | undefined {
  const root = rootDisk(devices);
  const bytes = root === undefined ? undefined : parseBytes(devices[root.name]?.['size'] ?? '');
  return bytes === 0 ? undefined : bytes;
}

/** For a volume without a limit. In pools that cannot limit it has no effect, which causes a warning. */
export async function limitNewRoot(
  pools: Pools,
  pool: string,
  name: string,
  devices: DeviceMap,
  how: { readonly mustHold?: boolean } = {},
): Promise<void> {
  if (rootSize(devices) !== undefined) await limitRoot(pools, pool, name, devices, how);
}

/** `mustHold`: refuses a size below the current use. */
export async function limitRoot(
  pools: Pools,
  pool: string,
  name: string,
  devices: DeviceMap,
  how: { readonly mustHold?: boolean } = {},
): Promise<void> {
  const { driver, pool: spec } = pools.use(pool);
  if (!pools.canLimit(pool)) return;
  await driver.limitVolume(spec, { type: 'container', name }, rootSize(devices), how);
}
