// Why a nic cannot have its static address: nothing gives it out or holds the container to it, or it is not of the network. Pure.
import type { ConfigMap } from '../schema/common-schemas.ts';
import type { IpFamily } from '../text/ip.ts';
import { addressProblem } from './address-in-subnet.ts';
import { parseCidr, parseIp } from '../text/ip.ts';
import { isTrue } from '../text/value-checks.ts';

/** `nic`: with the properties of its network filled in. `network`: the config of its managed network; absent for any other parent. */
export function staticAddressProblem(
  nic: ConfigMap,
  family: IpFamily,
  network: ConfigMap | undefined,
): string | undefined {
  const address = nic[`ipv${family}.address`] ?? '';
  if (nic['nictype'] !== 'bridged' || address === '') return undefined;
  const ineffective = isTrue(nic[`security.ipv${family}_filtering`]) ? undefined : whyIneffective(nic, family, network);
  if (ineffective !== undefined) return ineffective;
  const [ip, subnet] = [parseIp(address), parseCidr(network?.[`ipv${family}.address`] ?? '')];
  return ip === undefined || subnet === undefined ? undefined : addressProblem(ip, nic['parent'] ?? '', subnet);
}

function whyIneffective(nic: ConfigMap, family: IpFamily, network: ConfigMap | undefined): string | undefined {
  const { parent = '' } = nic;
  const remedy = `set security.ipv${family}_filtering: true for a nic that may use only its own addresses`;
  if (nic[`ipv${family}.address`] === 'none') return `the container would have addresses nevertheless; ${remedy}`;
  if (network === undefined) {
    const isOfMaas = (nic[`maas.subnet.ipv${family}`] ?? '') !== '';
    if (isOfMaas) return undefined;
    return `${parent} is no managed network, so that nothing gives it out; set it inside the container instead, or ${remedy}`;
  }
  const why = whyWithoutDhcp(family, network);
  return why && `the network ${parent} gives out no static addresses, as ${why}; change that, or ${remedy}`;
}

function whyWithoutDhcp(family: IpFamily, config: ConfigMap): string | undefined {
  const key = `ipv${family}.address`;
  const isOff = (name: string, otherwise: boolean): boolean => !(isTrue(config[name]) || (otherwise && !config[name]));
  // A fan has its addresses from another key.
  if (config['bridge.mode'] !== 'fan' && ['', 'none'].includes(config[key] ?? '')) return `it has no ${key}`;
  if (isOff(`ipv${family}.dhcp`, true)) return `ipv${family}.dhcp is false`;
  return family === 6 && isOff('ipv6.dhcp.stateful', false) ? 'ipv6.dhcp.stateful is not true' : undefined;
}
