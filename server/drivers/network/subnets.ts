// Picks free private subnets; pure: randomness and what is taken are inputs.
import { cidrsOverlap, formatCidr, parseCidr, parseIp, bitsOf } from '../../api/ip.ts';
import type { Cidr, IpFamily } from '../../api/ip.ts';

/** At least 0, below 1. */
export type Random = () => number;

const tries = 100;

/** What of these texts (addresses, subnets, `default`, `none`) takes up room. A default route takes none. */
export function takenSubnets(texts: Iterable<string>): Cidr[] {
  const out: Cidr[] = [];
  for (const text of texts) {
    const ip = parseIp(text);
    const cidr = ip === undefined ? parseCidr(text) : { ip, prefix: bitsOf(ip.family) };
    if (cidr !== undefined && cidr.prefix > 0) out.push(cidr);
  }
  return out;
}

/** `10.A.B.1/24` or `fd42:x:y:z::1/64`; undefined when nothing free was found. */
export function pickSubnet(family: IpFamily, taken: readonly Cidr[], random: Random): string | undefined {
  const isFree = (cidr: Cidr): boolean => !taken.some((other) => cidrsOverlap(cidr, other));
  const below = (limit: number): number => Math.min(limit - 1, Math.floor(random() * limit));
  for (let i = 0; i < tries; i++) {
    const cidr = family === 4 ? subnet4(below(255 * 255)) : subnet6([below(65536), below(65536), below(65536)]);
    if (isFree(cidr)) return formatCidr(cidr);
  }
  if (family === 6) return undefined;
  // A crowded host: what luck does not find, looking everywhere does.
  const start = below(255 * 255);
  for (let i = 0; i < 255 * 255; i++) {
    const cidr = subnet4((start + i) % (255 * 255));
    if (isFree(cidr)) return formatCidr(cidr);
  }
  return undefined;
}

function subnet4(index: number): Cidr {
  return {
    ip: {
      family: 4,
      value: (10n << 24n) | (BigInt(Math.floor(index / 255)) << 16n) | (BigInt(index % 255) << 8n) | 1n,
    },
    prefix: 24,
  };
}

function subnet6(groups: readonly number[]): Cidr {
  const top = groups.reduce((value, group) => (value << 16n) | BigInt(group), 0xfd42n);
  return { ip: { family: 6, value: (top << 64n) | 1n }, prefix: 64 };
}
