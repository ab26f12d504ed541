// Says which hardware address the bridge of a network has, and keeps it apart from those of the nics on it.
import { errors } from '../../api/errors.ts';
import { containerUrl } from '../../api/project/project-names.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type { NetworkDriver } from '../../drivers/network/driver.ts';
import type { Records } from '../../records/records.ts';
import type { ContainerView } from '../shared/container-view.ts';
import { claimsOfOthers } from './claims-of-others.ts';

/** The written one, else what the interface of the host has: undefined when there is none. */
export function bridgeHwaddr(
  records: Pick<Records, 'networks'>,
  driver: Pick<NetworkDriver, 'hwaddr'>,
  network: string,
): string | undefined {
  const written = records.networks.get(network)?.document.config['bridge.hwaddr'] ?? '';
  return written === '' ? driver.hwaddr(network) : written.toLowerCase();
}

/** A bridge that takes the address of a nic would get the frames that are for its container. Throws AppError badRequest. */
export function refuseNicHwaddr(
  deps: { readonly records: Records; readonly view: Pick<ContainerView, 'expanded'> },
  network: string,
  config: ConfigMap,
  before: ConfigMap,
): void {
  const value = (config['bridge.hwaddr'] ?? '').toLowerCase();
  if (value === '' || value === before['bridge.hwaddr']?.toLowerCase()) return;
  const own = { container: '', device: '', network, property: 'hwaddr', value } as const;
  const [owner] = claimsOfOthers(deps.records, deps.view, [own]);
  if (owner === undefined) return;
  const message = `cannot be ${value}: the nic ${owner.device} of ${containerUrl(owner.container)} has it; choose another one`;
  throw errors.invalid(`network ${network}`, [{ path: 'config.bridge.hwaddr', message }]);
}
