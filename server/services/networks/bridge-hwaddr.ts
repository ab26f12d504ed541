// The hardware address of a network's bridge, and its conflicts with nics.
import { errors } from '../../api/errors.ts';
import { containerUrl } from '../../api/project/project-names.ts';
import { userText } from '../../api/project/user-text.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type { NetworkDriver } from '../../drivers/network/driver.ts';
import type { Records } from '../../records/records.ts';
import type { ContainerView } from '../shared/container-view.ts';
import { claimsOfOthers } from './claims-of-others.ts';

/** The configured one, else that of the host's interface; undefined if there is none. */
export function bridgeHwaddr(
  records: Pick<Records, 'networks'>,
  driver: Pick<NetworkDriver, 'hwaddr'>,
  network: string,
): string | undefined {
  const written = records.networks.get(network)?.document.config['bridge.hwaddr'] ?? '';
  return written === '' ? driver.hwaddr(network) : written.toLowerCase();
}

/** A bridge with a nic's address would receive the container's frames. Throws AppError badRequest. */
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
  const message = `cannot be ${value}: the nic ${owner.device} of ${userText(containerUrl(owner.container))} has it; choose another one`;
  throw errors.invalid(`network ${network}`, [{ path: 'config.bridge.hwaddr', message }]);
}
