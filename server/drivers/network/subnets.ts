// Picks free private subnets; pure: randomness and taken subnets are inputs.
import { bitsOf, cidrsOverlap, firstOf, formatCidr, lastOf, parseCidr, parseIp } from '../../api/text/ip.ts';
import type { Cidr, IpFamily } from '../../api/text/ip.ts';

/** At least 0, below 1. */
export type Random = () => number;

const tries = 100;

/** The address ranges among these texts (addresses, subnets, `default`, `none`). A default route occupies none. */
export function takenSubnets(texts: Iterable<string>): Cidr[] {
  const out: Cidr[] = [];
  for (const text of texts) {
    const ip = parseIp(text);
    const cidr = ip === undefined ? parseCidr(text) : { ip, prefix: bitsOf(ip.family) };
    if (cidr !== undefined && cidr.prefix > 0) out.push(cidr);
  }
  return out;
}

/** `10.A.B.1/24` (A and B to 254) or `fd42:x:y:z::1/64`; undefined when nothing free was found. */
export function pickSubnet(family: IpFamily, taken: readonly Cidr[], random: Random): string | undefined {
  const cidr = family === 4 ? pick4(taken, random) : pick6(taken, random);
  return cidr === undefined ? undefined : formatCidr(cidr);
}

const tenBase = 10n << 24n;

function pick4(taken: readonly Cidr[], random: Random): Cidr | undefined {
  const isTaken = new Uint8Array(256 * 256);
  for (const cidr of taken.filter((each) => each.ip.family === 4)) {
    // Outside 10.0.0.0/8 both ends fall on the same side of the array, and fill does nothing.
    const from = Number((firstOf(cidr).value - tenBase) >> 8n);
    const to = Number((lastOf(cidr).value - tenBase) >> 8n);
    isTaken.fill(1, Math.max(0, from), Math.max(0, to + 1));
  }
  const free: number[] = [];
  for (const [index, value] of isTaken.entries()) {
    if (value === 0 && index >> 8 < 255 && (index & 255) < 255) free.push(index);
  }
  const index = free[below(free.length, random)];
  return index === undefined
    ? undefined
    : { ip: { family: 4, value: tenBase | (BigInt(index) << 8n) | 1n }, prefix: 24 };
}

function pick6(taken: readonly Cidr[], random: Random): Cidr | undefined {
  for (let i = 0; i < tries; i++) {
    const groups = [0xfd42, below(65536, random), below(65536, random), below(65536, random)];
    const top = groups.reduce((value, group) => (value << 16n) | BigInt(group), 0n);
    const cidr: Cidr = { ip: { family: 6, value: (top << 64n) | 1n }, prefix: 64 };
    if (!taken.some((other) => cidrsOverlap(cidr, other))) return cidr;
  }
  return undefined;
}

function below(limit: number, random: Random): number {
  return Math.min(limit - 1, Math.floor(random() * limit));
}
