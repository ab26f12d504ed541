// Records the volatile keys of a running container's devices after they changed.
import type { ConfigMap, DeviceMap } from '../../../api/schema/common-schemas.ts';
import type { DeviceRun } from '../../../drivers/devices/device.ts';
import type { Records } from '../../../records/records.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { volatileKeys } from './prepare-devices.ts';

/** Removes keys of removed devices, records keys of new ones. The caller holds the container's lock. */
export async function keepVolatile(
  records: Records,
  name: string,
  runs: ReadonlyMap<string, DeviceRun>,
  before: DeviceMap,
  after: DeviceMap,
): Promise<void> {
  const lost = Object.keys(before).filter((device) => !(device in after));
  const added = volatileKeys(runs);
  const isLost = (key: string): boolean => lost.some((device) => key.startsWith(`volatile.${device}.`));
  const { config } = readyContainer(records, name).document;
  const kept = Object.fromEntries(Object.entries(config).filter(([key]) => !isLost(key)));
  const wanted: ConfigMap = { ...kept, ...added };
  if (isSameConfig(config, wanted)) return;
  await records.retry((changes) => {
    const { document } = readyContainer(records, name);
    const now = Object.fromEntries(Object.entries(document.config).filter(([key]) => !isLost(key)));
    changes.put('containers', name, { ...document, config: { ...now, ...added } });
  });
}

/** Ignores the order of the keys. */
export const isSameConfig = (a: ConfigMap, b: ConfigMap): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([key, value]) => b[key] === value);
