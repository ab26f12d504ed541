// The leases of a network that its records tell: the addresses of its bridge, and the fixed ones of its hosts.
import type { NetworkLease } from '../../api/network/network.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type { NetworkHost } from '../../drivers/network/driver.ts';
import { addressKeys } from './taken-addresses.ts';

/** Every member of a cluster has the same ones. */
export const gatewayLeases = (network: string, config: ConfigMap): readonly NetworkLease[] =>
  addressKeys.flatMap((key) => {
    const [address = ''] = (config[key] ?? '').split('/');
    if (address === '' || address === 'none') return [];
    return [{ hostname: `${network}.gw`, hwaddr: '', address, type: 'gateway', location: '' }];
  });

export const fixedLeases = (hosts: readonly NetworkHost[], location: string): readonly NetworkLease[] =>
  hosts.flatMap(({ hostname, hwaddr, ipv4, ipv6 }) =>
    [ipv4, ipv6]
      .filter((address) => address !== undefined)
      .map((address) => ({ hostname, hwaddr, address, type: 'static', location })),
  );
