// Containers that claim the same static address of a network or the same port of the host. Warnings: they may never run together. Pure.
import { type DeviceConfig, isNic, parseProxyAddress } from '../../../server/api/devices/index.ts';
import { formatIp, parseIp } from '../../../server/api/text/ip.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Address } from '../documents/document.ts';
import { resolved, type ExpectedContainer } from './expected-containers.ts';

interface Claim {
  /** A resource that two containers cannot both have. */
  readonly place: string;
  /** The part of it that is compared by `clash`. */
  readonly host: string;
  readonly what: string;
  readonly device: string;
  readonly property: string;
}

interface ContainerClaim extends Claim {
  readonly container: ExpectedContainer;
}

interface Contest {
  readonly claim: ContainerClaim;
  /** Claims of containers before it that exclude this one, at least one. */
  readonly others: readonly [ContainerClaim, ...ContainerClaim[]];
}

/** `containers`: declared ones last, each compared with all before it. */
export function containerClashes(containers: readonly ExpectedContainer[]): readonly Diagnostic[] {
  const reported = new Set<string>();
  return contestsOf(containers).flatMap(({ claim, others: [other] }) => {
    const id = `${claim.container.address} ${claim.device} ${other.container.address}`;
    if (reported.has(id)) return [];
    reported.add(id);
    return [clash(claim.container, claim, other)];
  });
}

/** Declared containers by the undeclared container whose address or port they want. */
export function rivalsOf(containers: readonly ExpectedContainer[]): ReadonlyMap<Address, readonly Address[]> {
  const found = new Map<Address, Address[]>();
  for (const { claim, others } of contestsOf(containers))
    for (const { container } of others) {
      if (container.document !== undefined) continue;
      found.set(container.address, [...(found.get(container.address) ?? []), claim.container.address]);
    }
  return found;
}

/** The claims of declared containers that others exclude. */
function contestsOf(containers: readonly ExpectedContainer[]): readonly Contest[] {
  const claimed = new Map<string, ContainerClaim[]>();
  const found: Contest[] = [];
  for (const container of containers) {
    for (const own of claimsOf(container)) {
      const claim = { ...own, container };
      const before = claimed.get(claim.place) ?? [];
      const [first, ...more] = before.filter((one) => isSameHost(one.host, claim.host));
      if (first !== undefined && container.document !== undefined) found.push({ claim, others: [first, ...more] });
      claimed.set(claim.place, [...before, claim]);
    }
  }
  return found;
}

function* claimsOf(container: ExpectedContainer): Iterable<Claim> {
  for (const [device, given] of Object.entries(container.devices)) {
    if (isNic(given)) yield* addressClaims(device, resolved(given));
    else if (given['type'] === 'proxy' && container.runs) yield* portClaims(device, given);
  }
}

function* addressClaims(device: string, nic: DeviceConfig): Iterable<Claim> {
  const { parent } = nic;
  if (parent === undefined) return;
  for (const property of ['ipv4.address', 'ipv6.address']) {
    const ip = parseIp(nic[property] ?? '');
    if (ip === undefined) continue;
    const text = formatIp(ip);
    const what = `the address ${text} on the network ${parent}`;
    yield { place: `${parent} ${text}`, host: '', what, device, property };
  }
}

function* portClaims(device: string, proxy: DeviceConfig): Iterable<Claim> {
  if ((proxy['bind'] ?? 'host') !== 'host') return;
  const listen = parseProxyAddress(proxy['listen'] ?? '');
  if (typeof listen === 'string' || listen.protocol === 'unix') return;
  for (const port of listen.ports) {
    const what = `${listen.protocol} port ${port} of the host`;
    yield { place: `${listen.protocol} ${port}`, host: listen.host, what, device, property: 'listen' };
  }
}

/** A single address, or the wildcard for all of them. */
const isSameHost = (a: string, b: string): boolean => a === b || isWildcard(a, b) || isWildcard(b, a);
const isWildcard = (all: string, one: string): boolean => all === '::' || (all === '0.0.0.0' && !one.includes(':'));

function clash(
  { address, document }: ExpectedContainer,
  { what, device, property }: Claim,
  { container, ...other }: ContainerClaim,
): Diagnostic {
  const who =
    container.address === address ? `its own device ${other.device}` : `${container.address} (device ${other.device})`;
  return {
    severity: 'warning',
    code: property === 'listen' ? 'port-taken' : 'address-taken',
    address,
    path: `devices.${device}.${property}`,
    message: `${address} wants ${what}, which ${who} has: only one of them can work`,
    remedy: `change devices.${device}.${property} of one of them`,
    ...document?.location,
  };
}
