// Which addresses, gateways and tables a nic takes that the host routes to (routed) or that shares the host's MAC address (ipvlan).
import { splitList } from '../network/network-values.ts';
import type { Problem } from '../problem.ts';
import { formatIp, parseCidr, parseIp, type IpFamily } from '../text/ip.ts';
import * as is from '../text/value-checks.ts';
import type { Check } from '../text/value-checks.ts';
import { isSet, live, problem, type DeviceConfig, type DeviceProperty } from './device-schema.ts';

export const layer3Types: readonly string[] = ['ipvlan', 'routed'];

const both = { only: layer3Types };
const routed = { only: ['routed'] };
const families = [4, 6] as const;
const isAddress = (family: IpFamily): Check => (family === 4 ? is.ipv4 : is.ipv6);

/** The address of the host that the container sends everything to, unless the nic says another one. */
export const defaultHostAddress = { 4: '169.254.0.1', 6: 'fe80::1' } as const;

export const layer3Properties: Readonly<Record<string, DeviceProperty>> = {
  mode: live(is.oneOf('l3s', 'l2'), 'l3s: the host routes to it. l2: it is in the network of its parent.', {
    default: 'l3s',
    only: ['ipvlan'],
  }),
  ...Object.assign(
    {},
    ...families.map((family) => ({
      [`ipv${family}.gateway`]: live(
        isGateway(family),
        'auto: a default route by the host; none: no default route. ipvlan in mode l2: the address of the gateway.',
        both,
      ),
      [`ipv${family}.host_address`]: live(isAddress(family), "Address of the host's end: the container's next hop.", {
        default: defaultHostAddress[family],
        ...routed,
      }),
      [`ipv${family}.host_table`]: live(
        is.integer(1, 2 ** 32 - 1),
        'Routing table of the host that has the routes to the addresses as well.',
        both,
      ),
      [`ipv${family}.neighbor_probe`]: live(is.bool, 'Refuse an address that somebody in the network of parent has.', {
        default: 'true',
        ...routed,
      }),
    })),
  ),
};

function isGateway(family: IpFamily): Check {
  const rule = isAddress(family);
  return (value) =>
    value === 'auto' || value === 'none' || rule(value) === undefined
      ? undefined
      : `must be auto, none, or (for ipvlan in mode l2) an IPv${family} address`;
}

export function layer3Rules(kind: string, device: DeviceConfig): Problem[] {
  const orphan =
    isSet(device, 'vlan') && !isSet(device, 'parent')
      ? [problem('vlan', 'needs parent, the interface of the host that the VLAN is on')]
      : [];
  return [...orphan, ...families.flatMap((family) => familyRules(kind, device, family))];
}

function familyRules(kind: string, device: DeviceConfig, family: IpFamily): Problem[] {
  const isLayer2 = device['mode'] === 'l2';
  const key = (name: string): string => `ipv${family}.${name}`;
  const problems: Problem[] = addressRules(key('address'), splitList(device[key('address')]), isLayer2, family);
  const gateway = device[key('gateway')] ?? '';
  if (gateway !== '' && (gateway === 'auto' || gateway === 'none') === isLayer2) {
    const rule = isLayer2
      ? 'must be the address of the gateway in mode l2; left out, there is no default route'
      : `must be auto or none: the gateway of nictype ${kind} is the host`;
    problems.push(problem(key('gateway'), rule));
  }
  if (isLayer2 && gateway !== '' && !isSet(device, key('address'))) {
    problems.push(problem(key('gateway'), `needs ${key('address')}, from which the gateway is reached`));
  }
  if (isLayer2 && isSet(device, key('host_table'))) {
    problems.push(problem(key('host_table'), 'has no effect in mode l2, where the host routes nothing: leave it out'));
  }
  if (isSet(device, key('routes')) && !isSet(device, key('address'))) {
    problems.push(problem(key('routes'), `needs ${key('address')}, the address that the subnets are behind`));
  }
  return problems;
}

function addressRules(path: string, listed: readonly string[], isLayer2: boolean, family: IpFamily): Problem[] {
  const ipOf = (text: string): string | undefined => {
    const ip = parseIp(text) ?? (isLayer2 ? parseCidr(text)?.ip : undefined);
    return ip?.family === family ? formatIp(ip) : undefined;
  };
  const ips = listed.map(ipOf);
  const bad = listed.find((_text, index) => ips[index] === undefined);
  if (bad !== undefined) {
    const form = isLayer2 ? 'with or without prefix length' : 'without prefix length: the host routes each by itself';
    return [problem(path, `must be IPv${family} addresses separated by commas, ${form}; ${is.shown(bad)} is not one`)];
  }
  const twice = listed.find((_text, index) => ips.indexOf(ips[index]) < index);
  return twice === undefined ? [] : [problem(path, `names ${twice} twice`)];
}
