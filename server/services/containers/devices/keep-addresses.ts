// Records the hardware addresses of a container's nics.
import type { DeviceMap } from '../../../api/schema/common-schemas.ts';
import type { Records } from '../../../records/records.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { withHardwareAddresses } from '../shared/draft.ts';

/** Records a hardware address for every nic of the container, also for those that profiles added later. */
export async function keepAddresses(records: Records, name: string, devices: DeviceMap): Promise<void> {
  const { config } = readyContainer(records, name).document;
  if (withHardwareAddresses(records, config, devices) === config) return;
  await records.retry((changes) => {
    const { document } = readyContainer(records, name);
    changes.put('containers', name, { ...document, config: withHardwareAddresses(records, document.config, devices) });
  });
}
