// Why a host on a network cannot have an address: the rule for nics with a static one. Pure.
import { containsIp, formatCidr, isHostAddress, type Cidr, type Ip } from '../text/ip.ts';

/** `network`: its address with the subnet's prefix length. Undefined if the address is valid. */
export function addressProblem(ip: Ip, name: string, network: Cidr): string | undefined {
  const where = `the network ${name} (${formatCidr(network)})`;
  if (!containsIp(network, ip)) return `it is not in the subnet of ${where}`;
  if (ip.value === network.ip.value) return `it is the address of ${where} itself`;
  if (isHostAddress({ ip, prefix: network.prefix })) return undefined;
  return `no machine can have the first or last address of ${where}`;
}
