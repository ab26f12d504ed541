// Checks that the addresses of a network are free on this host: a second interface with one of them cannot serve DHCP or DNS. Pure.
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { formatCidr, formatIp, parseCidr, subnetOf } from '../../api/text/ip.ts';
import type { Problem } from '../../api/problem.ts';
import type { HostInterface } from '../../drivers/network/driver.ts';

const keys = ['ipv4.address', 'ipv6.address'] as const;

/** Of the addresses that differ from `before`: the interface of the host that has the address, or another one of its subnet. */
export function takenAddresses(
  name: string,
  config: ConfigMap,
  before: ConfigMap,
  interfaces: readonly HostInterface[],
): readonly Problem[] {
  return keys.flatMap((key) => {
    const value = config[key] ?? '';
    if (value === before[key]) return [];
    const owner = ownerOf(value, interfaces);
    if (owner === undefined || owner.name === name) return [];
    const message = `${value} is in use: the interface ${owner.name} of this host has ${owner.address}. Choose another subnet, or "auto" for a free one`;
    return [{ path: `config.${key}`, message }];
  });
}

function ownerOf(value: string, interfaces: readonly HostInterface[]): { name: string; address: string } | undefined {
  const wanted = parseCidr(value);
  if (wanted === undefined) return undefined;
  for (const { name, addresses = [] } of interfaces) {
    const address = addresses.find((text) => {
      const has = parseCidr(text);
      if (has === undefined || has.ip.family !== wanted.ip.family) return false;
      return formatIp(has.ip) === formatIp(wanted.ip) || formatCidr(subnetOf(has)) === formatCidr(subnetOf(wanted));
    });
    if (address !== undefined) return { name, address };
  }
  return undefined;
}
