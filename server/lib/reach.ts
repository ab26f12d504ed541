// Restricts connections requested by untrusted callers to internet addresses: none of this host, its links and private networks, unless
// listed. Checks the addresses that are connected to, so that neither a redirect nor a second DNS answer bypasses it.
import { lookup as lookUp } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { formatIp, parseCidr } from '../api/text/ip.ts';

/** Parameters of this type are optional: absent means any address. */
export interface Reach {
  /** Networks such as 10.1.0.0/16, and addresses, that are allowed nevertheless. */
  readonly allowed: readonly string[];
  /** Who set the rule, and how to change it: the end of a message. */
  readonly rule: string;
}

/** The same text whether the name is unknown, its address is private, or a port there is open: it reveals nothing of the internal network. */
export class OutOfReach extends Error {
  override readonly name = 'OutOfReach';
  constructor(host: string, { rule }: Reach) {
    super(`${host} has no address, or one that may not be asked: ${rule}`);
  }
}

/** Throws OutOfReach if the host, an address or a name, has a forbidden address. An unknown name passes: connecting fails. */
export async function checkReach(host: string, reach: Reach): Promise<void> {
  const plain = host.replaceAll(/[[\]]/g, '');
  const found = isIP(plain) > 0 ? [plain] : await addressesOf(plain);
  if (!found.every((address) => isWithin(address, reach))) throw new OutOfReach(plain, reach);
}

/** For `net.connect` and `tls.connect`, which connect only to the addresses it returns. */
export const lookupWithin =
  (reach: Reach): LookupFunction =>
  (hostname, options, callback) => {
    lookUp(hostname, { ...options, all: true }, (error, found) => {
      const [first] = error === null ? found : [];
      if (first === undefined || !found.every(({ address }) => isWithin(address, reach)))
        callback(new OutOfReach(hostname, reach), '', 0);
      else if (options.all === true) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };

export function isWithin(address: string, { allowed }: Reach): boolean {
  const family = familyOf(address);
  if (family === undefined) return false;
  const isInside = inside.check(address, family) || isOwn(address);
  return !isInside || allowed.some((network) => listOf(network)?.check(address, family) === true);
}

async function addressesOf(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

/** An own address bypasses this host's firewall, even a public one. */
const isOwn = (address: string): boolean =>
  Object.values(networkInterfaces()).some((interfaces) => interfaces?.some((one) => one.address === address) === true);

function listOf(network: string): BlockList | undefined {
  const cidr = parseCidr(network) ?? parseCidr(`${network}/${network.includes(':') ? 128 : 32}`);
  if (cidr === undefined) return undefined;
  const list = new BlockList();
  list.addSubnet(formatIp(cidr.ip), cidr.prefix, cidr.ip.family === 4 ? 'ipv4' : 'ipv6');
  return list;
}

const familyOf = (address: string): 'ipv4' | 'ipv6' | undefined =>
  ({ 0: undefined, 4: 'ipv4', 6: 'ipv6' } as const)[isIP(address) as 0 | 4 | 6];

/** This host, links, private and shared networks, multicast, and reserved ones. */
const inside = new BlockList();
const networks4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const;
const networks6 = [
  ['::', 96],
  ['64:ff9b:1::', 48],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
] as const;
for (const [network, bits] of networks4) {
  // A BlockList treats ::ffff:10.0.0.1 as 10.0.0.1 itself. Gateways translate the other two.
  inside.addSubnet(network, bits, 'ipv4');
  inside.addSubnet(`64:ff9b::${network}`, 96 + bits, 'ipv6');
  const [a = 0, b = 0, c = 0, d = 0] = network.split('.').map(Number);
  inside.addSubnet(`2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::`, 16 + bits, 'ipv6');
}
for (const [network, bits] of networks6) inside.addSubnet(network, bits, 'ipv6');
