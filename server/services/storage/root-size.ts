// The size that a container's root disk asks for, and telling it to the pool that keeps the volume.
import { parseBytes } from '../../api/text/byte-size.ts';
import type { DeviceMap } from '../../api/schema/common-schemas.ts';
import { rootDisk } from '../../api/devices/index.ts';
import type { Pools } from './pools.ts';

/** What to use instead of a pool that cannot limit. */
export const limitingPools =
  'a pool of driver btrfs, lvm, zfs or ceph, or of driver dir on ext4 or xfs with project quotas (mount option prjquota)';

/** Undefined: no limit. */
export function rootSize(devices: DeviceMap): number | undefined {
  const root = rootDisk(devices);
  const bytes = root === undefined ? undefined : parseBytes(devices[root.name]?.['size'] ?? '');
  return bytes === 0 ? undefined : bytes;
}

/** For a volume that has no limit yet. In pools that cannot limit it has no effect, of which the server warns. */
export async function limitNewRoot(
  pools: Pools,
  pool: string,
  name: string,
  devices: DeviceMap,
  how: { readonly mustHold?: boolean } = {},
): Promise<void> {
  if (rootSize(devices) !== undefined) await limitRoot(pools, pool, name, devices, how);
}

/** `mustHold`: refused when the container holds more already. */
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
