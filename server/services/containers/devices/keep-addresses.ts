// Records the hardware addresses of a container's nics.
import type { DeviceMap } from '../../../api/schema/common-schemas.ts';
import type { Records } from '../../../records/records.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { withHardwareAddresses } from '../shared/draft.ts';

/** Every nic of the container has its hardware address recorded, also those that profiles brought later. */
export async function keepAddresses(records: Records, name: string, devices: DeviceMap): Promise<void> {
  const { config } = readyContainer(records, name).document;
  if (withHardwareAddresses(records, config, devices) === config) return;
  await records.retry((changes) => {
    const { document } = readyContainer(records, name);
    changes.put('containers', name, { ...document, config: withHardwareAddresses(records, document.config, devices) });
  });
}
