// Checks the addresses of nics: in the network's subnet, not its gateway's, not in use. Reads records, changes nothing; network-hosts.ts
// has the leases.
import { plainName, projectOf } from '../../api/project/project-names.ts';
import type { ConfigMap, DeviceMap } from '../../api/schema/common-schemas.ts';
import { addressProblem } from '../../api/network/address-in-subnet.ts';
import { staticAddressProblem } from '../../api/network/static-address.ts';
import { formatIp, parseCidr, parseIp } from '../../api/text/ip.ts';
import { newProblems, type Problem } from '../../api/problem.ts';
import type { Records } from '../../records/records.ts';
import { splitList } from '../../api/network/network-values.ts';
import { hasOwnHwaddr, isLayer3, isNic, resolveDevice } from '../../api/devices/index.ts';
import { nicNetwork } from '../shared/expand.ts';
import { fixedAddress, ipFamilies } from './nic-filtering.ts';

/** One address of one nic, in canonical form. */
export interface Claim {
  readonly container: string;
  readonly device: string;
  readonly network: string;
  readonly property: 'ipv4.address' | 'ipv6.address' | 'hwaddr';
  readonly value: string;
}

/** `devices` and `config` with profiles applied. */
export function claimsOf(container: string, devices: DeviceMap, config: ConfigMap): readonly Claim[] {
  return Object.entries(devices).flatMap(([device, properties]) => {
    const network = nicNetwork(properties);
    if (network === undefined) return [];
    const hwaddr = properties['hwaddr'] || config[`volatile.${device}.hwaddr`];
    const of = (property: Claim['property'], value: string): Claim => ({ container, device, network, property, value });
    return [
      ...(hwaddr === undefined || !hasOwnHwaddr(properties) ? [] : [of('hwaddr', hwaddr.toLowerCase())]),
      ...ipFamilies.flatMap((family) => {
        const key = `ipv${family}.address` as const;
        const texts = isLayer3(properties)
          ? splitList(properties[key]).map((text) => text.split('/')[0] ?? '')
          : [fixedAddress(device, properties, config, family)];
        return texts.flatMap((text) => {
          const ip = parseIp(text);
          return ip === undefined ? [] : [of(key, formatIp(ip))];
        });
      }),
    ];
  });
}

export const isSameAddress = (one: Claim, other: Claim): boolean =>
  one.network === other.network && one.property === other.property && one.value === other.value;
const isSameNic = (one: Claim, other: Claim): boolean =>
  one.container === other.container && one.device === other.device;

/** Addresses that another nic has, or that two own nics share. */
export function takenProblems(claims: readonly Claim[], others: readonly Claim[]): Problem[] {
  return claims.flatMap((claim) => {
    const owner = [...others, ...claims].find((other) => isSameAddress(claim, other) && !isSameNic(claim, other));
    if (owner === undefined) return [];
    // The reader may not know other projects' objects.
    const isOwn = projectOf(owner.container) === projectOf(claim.container);
    const who = isOwn
      ? `the nic ${owner.device} of container ${plainName(owner.container)} on network ${owner.network}`
      : `a container of another project on network ${owner.network}`;
    const message = `cannot be ${claim.value}: ${who} has it`;
    return [{ path: `devices.${claim.device}.${claim.property}`, message }];
  });
}

/** A nic with the bridge's address would receive the host's frames. */
export function bridgeProblems(claims: readonly Claim[], hwaddrOf: (network: string) => string | undefined): Problem[] {
  return claims.flatMap(({ device, property, value, network }) => {
    if (property !== 'hwaddr' || hwaddrOf(network) !== value) return [];
    const message = `cannot be ${value}: ${network} itself has it; choose another one, or leave hwaddr out`;
    return [{ path: `devices.${device}.hwaddr`, message }];
  });
}

/** Checks managed networks with such a subnet: others are unknown here. */
export function subnetProblems(records: Pick<Records, 'networks'>, claims: readonly Claim[]): Problem[] {
  return claims.flatMap((claim) => {
    const ip = parseIp(claim.value);
    const subnet = parseCidr(records.networks.get(claim.network)?.document.config[claim.property] ?? '');
    if (claim.property === 'hwaddr' || ip === undefined || subnet === undefined) return [];
    const why = addressProblem(ip, claim.network, subnet);
    if (why === undefined) return [];
    return [{ path: `devices.${claim.device}.${claim.property}`, message: `cannot be ${claim.value}: ${why}` }];
  });
}

/** Static addresses that have no effect, or are not of the network. Those of `before` may stay. */
export function uselessAddresses(
  records: Pick<Records, 'networks'>,
  devices: DeviceMap,
  before?: DeviceMap,
): readonly Problem[] {
  const of = (name: string, properties: ConfigMap): readonly Problem[] => {
    const nic = resolveDevice(properties);
    const network = records.networks.get(nic['parent'] ?? '')?.document.config;
    const isNowhere = network === undefined && (properties['network'] ?? '') !== '';
    if (!isNic(properties) || isNowhere) return [];
    return ipFamilies.flatMap((family) => {
      const key = `ipv${family}.address`;
      const why = staticAddressProblem(nic, family, network);
      return why === undefined
        ? []
        : [{ path: `devices.${name}.${key}`, message: `cannot be ${nic[key] ?? ''}: ${why}` }];
    });
  };
  const all = (some: DeviceMap): readonly Problem[] => Object.entries(some).flatMap(([name, nic]) => of(name, nic));
  return newProblems(all, devices, before);
}

/** Claims that are new: recorded ones may stay. */
export const newClaims = (before: readonly Claim[], after: readonly Claim[]): readonly Claim[] =>
  after.filter((claim) => !before.some((other) => isSameAddress(claim, other) && isSameNic(claim, other)));
