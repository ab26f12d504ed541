// Decides which addresses a client of a simulated network gets; pure, the same input gives the same answer.
import { fnv1a } from '../../api/text/fnv1a.ts';
import { containsIp, eui64Address, formatIp, parseIp, type IpRange } from '../../api/text/ip.ts';
import { isServableName } from './dnsmasq/format.ts';
import type { FamilyPlan, NetworkPlan } from './config.ts';
import type { DynamicLease, NetworkHost } from './driver.ts';
import { leaseRanges } from './ranges.ts';

export interface SimClient {
  readonly hwaddr: string;
  /** The name that the client asks for. */
  readonly hostname?: string;
}

export interface SimAddresses {
  readonly ipv4?: string;
  readonly ipv6?: string;
}

export interface SimLeaseAnswer extends SimAddresses {
  /** All leases of the network after this one. */
  readonly leases: readonly DynamicLease[];
}

/** Reserved address first, then the one it had, then a free one. No address is ever given twice. */
export function giveLease(
  plan: NetworkPlan,
  hosts: readonly NetworkHost[],
  leases: readonly DynamicLease[],
  client: SimClient,
): SimLeaseAnswer {
  const hwaddr = client.hwaddr.toLowerCase();
  const others = leases.filter((lease) => lease.hwaddr !== hwaddr);
  const host = hosts.find((entry) => entry.hwaddr.toLowerCase() === hwaddr);
  const hostname = leaseName(plan, host, client);
  const own: DynamicLease[] = [];
  const answer: { ipv4?: string; ipv6?: string } = {};
  for (const family of plan.families) {
    const key = family.family === 4 ? 'ipv4' : 'ipv6';
    if (!family.dhcp || !(family.family === 4 || family.stateful)) {
      if (family.family === 6 && family.address.prefix === 64)
        answer.ipv6 = formatIp(eui64Address(family.address, hwaddr));
      continue;
    }
    const address = pick(family, host?.[key], {
      hosts,
      others,
      own: leases.filter((l) => l.hwaddr === hwaddr),
      hwaddr,
    });
    if (address === undefined) continue;
    answer[key] = address;
    own.push({ hostname, hwaddr, address });
  }
  // A reservation may have been made of an address that somebody else has: the reservation wins.
  const given = new Set(own.map((lease) => lease.address));
  return { ...answer, leases: [...others.filter((lease) => !given.has(lease.address)), ...own] };
}

function leaseName(plan: NetworkPlan, host: NetworkHost | undefined, client: SimClient): string {
  const name = plan.dnsMode === 'managed' ? host?.hostname : client.hostname;
  return name !== undefined && isServableName(name) ? name : '';
}

interface Known {
  readonly hosts: readonly NetworkHost[];
  readonly others: readonly DynamicLease[];
  readonly own: readonly DynamicLease[];
  readonly hwaddr: string;
}

function pick(family: FamilyPlan, reserved: string | undefined, known: Known): string | undefined {
  const fixed = parseIp(reserved ?? '');
  if (fixed !== undefined && containsIp(family.address, fixed)) return formatIp(fixed);
  const taken = new Set<bigint>([family.address.ip.value]);
  for (const text of [
    ...known.hosts.flatMap((host) => (host.hwaddr.toLowerCase() === known.hwaddr ? [] : [host.ipv4, host.ipv6])),
    ...known.others.map((lease) => lease.address),
  ]) {
    const ip = parseIp(text ?? '');
    if (ip?.family === family.family) taken.add(ip.value);
  }
  const ranges = leaseRanges(family);
  const isFree = (value: bigint): boolean =>
    !taken.has(value) && ranges.some((range) => value >= range.first.value && value <= range.last.value);
  for (const lease of known.own) {
    const ip = parseIp(lease.address);
    if (ip?.family === family.family && isFree(ip.value)) return formatIp(ip);
  }
  return firstFree(family, ranges, taken, known.hwaddr);
}

/** Starts at a place that depends on the hardware address alone; at most one step more than there are taken addresses. */
function firstFree(
  family: FamilyPlan,
  ranges: readonly IpRange[],
  taken: ReadonlySet<bigint>,
  hwaddr: string,
): string | undefined {
  const sizes = ranges.map((range) => range.last.value - range.first.value + 1n);
  const total = sizes.reduce((sum, size) => sum + size, 0n);
  const start = BigInt(fnv1a(hwaddr));
  const limit = total < BigInt(taken.size) + 1n ? total : BigInt(taken.size) + 1n;
  for (let step = 0n; step < limit; step++) {
    let index = (start + step) % total;
    for (const [at, range] of ranges.entries()) {
      const size = sizes[at] ?? 0n;
      if (index < size) {
        const value = range.first.value + index;
        if (!taken.has(value)) return formatIp({ family: family.family, value });
        break;
      }
      index -= size;
    }
  }
  return undefined;
}
