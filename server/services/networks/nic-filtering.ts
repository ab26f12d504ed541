// Decides which nics may only send with their own addresses, and which addresses these are: by their keys, and by their project's
// restrictions. Pure.
import { createHash } from 'node:crypto';
import { isNic, resolveDevice } from '../../api/devices/index.ts';
import { isRestricted, restriction } from '../../api/project/project-restrictions.ts';
import type { ConfigMap, DeviceMap } from '../../api/schema/common-schemas.ts';
import { containsIp, eui64Address, formatIp, isHostAddress, parseIp } from '../../api/text/ip.ts';
import type { Ip, IpFamily, IpRange } from '../../api/text/ip.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import { familyOf, planNetwork, type FamilyPlan, type NetworkPlan } from '../../drivers/network/config.ts';
import { leaseRanges } from '../../drivers/network/ranges.ts';
import { attempt } from '../../lib/shared/attempt.ts';

export const ipFamilies = [4, 6] as const;

export const reservedKey = (device: string, family: IpFamily): string => `volatile.${device}.ipv${family}.address`;

/** The nic's permanent address: its own property, or a reserved one; empty if it has none. */
export function fixedAddress(device: string, properties: ConfigMap, config: ConfigMap, family: IpFamily): string {
  if (properties[`ipv${family}.address`] === 'none') return '';
  return properties[`ipv${family}.address`] || (config[reservedKey(device, family)] ?? '');
}

export interface FilterFacts {
  readonly project: ConfigMap;
  /** Config of the container, including reserved addresses. */
  readonly config: ConfigMap;
  readonly isManaged: (network: string) => boolean;
}

/** The devices for a start: nics of restricted projects with filters, filtered nics with their reserved addresses. */
export function filteredDevices(devices: DeviceMap, facts: FilterFacts): DeviceMap {
  return Object.fromEntries(
    Object.entries(devices).map(([name, device]) => [name, isNic(device) ? filtered(name, device, facts) : device]),
  );
}

function filtered(name: string, device: ConfigMap, { project, config, isManaged }: FilterFacts): ConfigMap {
  const { nictype, parent = '' } = resolveDevice(device);
  if (nictype !== 'bridged') return device;
  const guarded = mustFilter(project) ? { ...device, ...defaultFilters(isManaged(parent)) } : device;
  const addresses = ipFamilies.flatMap((family) => {
    const address = fixedAddress(name, guarded, config, family);
    return isFiltering(guarded, family) && address !== '' ? [[`ipv${family}.address`, address] as const] : [];
  });
  return { ...guarded, ...Object.fromEntries(addresses) };
}

/** Whether nics of the project may only send with their own addresses. */
const mustFilter = (project: ConfigMap): boolean =>
  isRestricted(project) && restriction(project, 'restricted.networks.spoofing') !== 'allow';

/** The right addresses on an unmanaged bridge are unknown here. */
const defaultFilters = (isManaged: boolean): ConfigMap => ({
  'security.mac_filtering': 'true',
  ...(isManaged ? { 'security.ipv4_filtering': 'true', 'security.ipv6_filtering': 'true' } : {}),
});

export const isFiltering = (device: ConfigMap, family: IpFamily): boolean =>
  isTrue(device[`security.ipv${family}_filtering`]);

export interface Reservation {
  readonly family: IpFamily;
  readonly hwaddr: string;
  /** The previous reservation, and its DHCP client's lease: kept if it still fits. */
  readonly wanted: readonly string[];
  readonly taken: ReadonlySet<string>;
}

/** The address to reserve for a nic. Undefined: the network has no addresses of the family, or none left. */
export function addressFor(network: string, config: ConfigMap, reservation: Reservation): string | undefined {
  const plan = planOf(network, config);
  const family = plan && familyOf(plan, reservation.family);
  if (family === undefined) return undefined;
  // The container derives it from its hardware address.
  if (makesItsOwn(family)) return formatIp(eui64Address(family.address, reservation.hwaddr));
  const kept = reservation.wanted.find((text) => isFree(text, family, reservation.taken));
  return kept ?? firstFree(family, reservation);
}

/** Whether the network assigns the address, rather than the container deriving it. */
export function isHandedOut(network: string, config: ConfigMap, family: IpFamily): boolean {
  const plan = planOf(network, config);
  const found = plan && familyOf(plan, family);
  return found !== undefined && !makesItsOwn(found);
}

/** A network that cannot come up has no addresses. */
const planOf = (network: string, config: ConfigMap): NetworkPlan | undefined =>
  attempt(() => planNetwork({ name: network, config }));

const makesItsOwn = (plan: FamilyPlan): boolean =>
  plan.family === 6 && plan.address.prefix === 64 && !(plan.dhcp && plan.stateful);

function isFree(text: string, plan: FamilyPlan, taken: ReadonlySet<string>): boolean {
  const ip = parseIp(text);
  if (ip === undefined || !containsIp(plan.address, ip) || ip.value === plan.address.ip.value) return false;
  return isHostAddress({ ip, prefix: plan.address.prefix }) && !taken.has(formatIp(ip));
}

/** Starts at an address derived from the hardware address, so that a nic likely gets the same one anywhere. */
function firstFree(plan: FamilyPlan, { hwaddr, taken }: Reservation): string | undefined {
  const ranges = leaseRanges(plan);
  const size = ranges.reduce((sum, range) => sum + sizeOf(range), 0n);
  if (size === 0n) return undefined;
  const hash = createHash('sha256').update(hwaddr).digest('hex').slice(0, 24);
  const start = BigInt(`0x${hash}`) % size;
  // Among more candidates than taken addresses, one is free.
  const tries = BigInt(taken.size) + 2n;
  for (let step = 0n; step < size && step < tries; step += 1n) {
    const text = formatIp(addressAt(ranges, (start + step) % size));
    if (isFree(text, plan, taken)) return text;
  }
  return undefined;
}

const sizeOf = ({ first, last }: IpRange): bigint => last.value - first.value + 1n;

function addressAt(ranges: readonly IpRange[], index: bigint): Ip {
  let left = index;
  for (const range of ranges) {
    if (left < sizeOf(range)) return { family: range.first.family, value: range.first.value + left };
    left -= sizeOf(range);
  }
  throw new RangeError('the index lies beyond all ranges');
}
