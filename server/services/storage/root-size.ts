// The size that a container's root disk asks for, and telling it to the pool that keeps the volume.
import { parseBytes } from '../../api/text/byte-size.ts';
import type { DeviceMap } from '../../api/schema/common-schemas.ts';
import { volumeConfigKeys } from '../../api/storage/storage-config.ts';
import { rootDisk } from '../../api/devices/index.ts';
import type { Pools } from './pools.ts';

/** Drivers of pools whose volumes have a limit that holds. */
export const limitingDrivers: readonly string[] = volumeConfigKeys.size.drivers;

/** A pool that is not known is asked elsewhere. */
export const canLimit = (driver: string): boolean => driver === '' || limitingDrivers.includes(driver);

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
  if (!driver.capabilities.quotas) return;
  await driver.limitVolume(spec, { type: 'container', name }, rootSize(devices), how);
}
