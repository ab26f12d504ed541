// Why a static address of a nic has no effect on its network: the network has no DHCP that gives it out, or nothing holds the container
// to it. Pure.
import type { ConfigMap } from '../schema/common-schemas.ts';
import type { IpFamily } from '../text/ip.ts';
import { isTrue } from '../text/value-checks.ts';

/** `nic`: with the properties of its network filled in. `network`: the config of its managed network; absent for any other parent. */
export function staticAddressProblem(
  nic: ConfigMap,
  family: IpFamily,
  network: ConfigMap | undefined,
): string | undefined {
  const address = nic[`ipv${family}.address`] ?? '';
  const filtering = `security.ipv${family}_filtering`;
  if (nic['nictype'] !== 'bridged' || address === '' || isTrue(nic[filtering])) return undefined;
  const remedy = `set ${filtering}: true for a nic that may use only its own addresses`;
  if (address === 'none') return `the container would have addresses nevertheless; ${remedy}`;
  const why = network === undefined ? undefined : whyWithoutDhcp(family, network);
  if (why === undefined) return undefined;
  return `the network ${nic['parent'] ?? ''} gives out no static addresses, as ${why}; change that, or ${remedy}`;
}

function whyWithoutDhcp(family: IpFamily, config: ConfigMap): string | undefined {
  const key = `ipv${family}.address`;
  const isOff = (name: string, otherwise: boolean): boolean => !(isTrue(config[name]) || (otherwise && !config[name]));
  // A fan has its addresses from another key.
  if (config['bridge.mode'] !== 'fan' && ['', 'none'].includes(config[key] ?? '')) return `it has no ${key}`;
  if (isOff(`ipv${family}.dhcp`, true)) return `ipv${family}.dhcp is false`;
  return family === 6 && isOff('ipv6.dhcp.stateful', false) ? 'ipv6.dhcp.stateful is not true' : undefined;
}
