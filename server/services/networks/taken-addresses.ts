// Checks that the subnets of a network overlap no other network and no interface of this host. Pure.
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { bitsOf, cidrsOverlap, parseCidr, type Cidr } from '../../api/text/ip.ts';
import type { Problem } from '../../api/problem.ts';
import type { HostInterface } from '../../drivers/network/driver.ts';

/** Addresses of networks that exist or are in creation, and of the host. */
export interface Neighbours {
  readonly networks: readonly { readonly name: string; readonly config: ConfigMap }[];
  readonly interfaces: readonly HostInterface[];
}

interface Owner {
  readonly who: string;
  readonly name: string;
  readonly addresses: readonly string[];
}

export const addressKeys = ['ipv4.address', 'ipv6.address'] as const;

/** Problems of addresses that differ from `before`: in use, or in an overlapping subnet. */
export function takenAddresses(name: string, config: ConfigMap, before: ConfigMap, others: Neighbours): Problem[] {
  return addressKeys.flatMap((key) => {
    const value = config[key] ?? '';
    if (value === before[key]) return [];
    const owner = ownerOf(value, ownersAmong(others, name));
    if (owner === undefined) return [];
    const message = `${value} is in use: ${owner.who} has ${owner.address}. Choose another subnet, or "auto" for a free one`;
    return [{ path: `config.${key}`, message }];
  });
}

function ownersAmong({ networks, interfaces }: Neighbours, name: string): readonly Owner[] {
  const all = [
    ...networks.map((each) => ({
      who: `the network ${each.name}`,
      name: each.name,
      addresses: addressKeys.flatMap((key) => each.config[key] ?? []),
    })),
    ...interfaces.map((each) => ({
      who: `the interface ${each.name} of this host`,
      name: each.name,
      addresses: each.addresses ?? [],
    })),
  ];
  return all.filter((owner) => owner.name !== name);
}

function ownerOf(value: string, owners: readonly Owner[]): { who: string; address: string } | undefined {
  const wanted = parseCidr(value);
  if (wanted === undefined) return undefined;
  for (const { who, addresses } of owners) {
    const address = addresses.find((text) => {
      const has = parseCidr(text);
      return has !== undefined && collides(wanted, has);
    });
    if (address !== undefined) return { who, address };
  }
  return undefined;
}

/** An address without a subnet, as of tunnels, conflicts only with itself. */
function collides(wanted: Cidr, has: Cidr): boolean {
  const isAlone = has.prefix === bitsOf(has.ip.family);
  return isAlone ? has.ip.family === wanted.ip.family && has.ip.value === wanted.ip.value : cidrsOverlap(wanted, has);
}
