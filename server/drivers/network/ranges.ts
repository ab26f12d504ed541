// The addresses of a subnet that may be leased; pure, shared by dnsmasq's options and the simulation.
import { bitsOf, firstOf, formatIp, lastOf, parseIp, plus, type IpRange } from '../../api/text/ip.ts';
import type { FamilyPlan } from './config.ts';

/** The configured ranges, else the whole subnet without base, broadcast, the bridge's address and the gateway's. */
export function leaseRanges(plan: FamilyPlan): IpRange[] {
  if (plan.ranges.length > 0) return [...plan.ranges];
  const isTiny = bitsOf(plan.family) - plan.address.prefix < 2;
  const whole = {
    first: plus(firstOf(plan.address), isTiny ? 0 : 1),
    last: plus(lastOf(plan.address), plan.family === 4 && !isTiny ? -1 : 0),
  };
  const gateway = parseIp(plan.gateway ?? '');
  const own = [plan.address.ip, ...(gateway === undefined ? [] : [gateway])];
  return own.reduce((ranges, ip) => ranges.flatMap((range) => without(range, ip.value)), [whole]);
}

function without(range: IpRange, value: bigint): IpRange[] {
  if (value < range.first.value || value > range.last.value) return [range];
  const parts: IpRange[] = [
    { first: range.first, last: { ...range.last, value: value - 1n } },
    { first: { ...range.first, value: value + 1n }, last: range.last },
  ];
  return parts.filter((part) => part.first.value <= part.last.value);
}

export function rangeText(range: IpRange): string {
  return `${formatIp(range.first)},${formatIp(range.last)}`;
}
