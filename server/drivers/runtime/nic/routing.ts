// Makes the host the router of a container's addresses: switches of the kernel, addresses of the host's end, answers in the network of the
// parent. The routes themselves are in routes.ts.
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import type { NicRun } from '../../device-parts.ts';
import { driverErrors } from '../../driver-error.ts';
import { confOf, forwardIpv4, forwardIpv6, setSwitch } from '../../kernel-switches.ts';
import { ip, isIpv6 } from './routes.ts';

/** Lines of `ip -batch` that make the host's side, right also when it is there. Pure. */
export function hostSide({ routing, hostName }: NicRun): readonly string[] {
  if (routing === undefined) return [];
  const { hostAddresses, addresses, parent } = routing;
  return [
    ...hostAddresses.map((text) => `address replace ${text} dev ${hostName}${isIpv6(text) ? ' nodad' : ''}`),
    ...(parent === undefined ? [] : addresses.map((text) => `neighbour replace proxy ${text} dev ${parent}`)),
  ];
}

/** Commands that remove what outlives the interface. Pure. */
export const dropHostSide = ({ routing }: NicRun): readonly string[] =>
  routing?.parent === undefined
    ? []
    : routing.addresses.map((text) => `neighbour delete proxy ${text} dev ${routing.parent}`);

export interface Switch {
  readonly path: string;
  readonly value: string;
}

/** Forwarding of all is switched on apart from these. Pure. */
export function routingSwitches(nic: NicRun): readonly Switch[] {
  const { routing } = nic;
  if (routing === undefined) return [];
  const has = { 4: routing.addresses.some((text) => !isIpv6(text)), 6: routing.addresses.some(isIpv6) };
  const of = (family: 4 | 6, name: string, key: string, value: string): Switch[] =>
    has[family] ? [{ path: join(confOf(family, name), key), value }] : [];
  const own = nic.kind === 'veth' ? nic.hostName : undefined;
  return [
    ...(own === undefined ? [] : [...of(4, own, 'forwarding', '1'), ...of(6, own, 'accept_ra', '0')]),
    ...(routing.parent === undefined
      ? []
      : [...of(4, routing.parent, 'forwarding', '1'), ...of(6, routing.parent, 'proxy_ndp', '1')]),
  ];
}

/** Idempotent. */
export async function routeThrough(nic: NicRun): Promise<void> {
  const { routing } = nic;
  if (routing === undefined) return;
  if (routing.addresses.some((text) => !isIpv6(text))) await forwardIpv4();
  if (routing.addresses.some(isIpv6)) await forwardIpv6();
  for (const { path, value } of routingSwitches(nic)) await setSwitch(path, value);
}

/** A missing object is no error. */
const look = (...args: readonly string[]): Promise<string> => ip(args, [0, 1, 2, 255]);

/** Throws DriverError Exists for an address that the host has itself, or that answers in the network of the parent. */
export async function checkAddresses(nic: NicRun): Promise<void> {
  const { addresses = [], parent, probed = [] } = nic.routing ?? {};
  const fail = (address: string, who: string): never => {
    throw driverErrors.exists(`Device ${nic.device}: ${who} ${address} already: give the nic another address`);
  };
  for (const address of addresses) {
    const family = isIpv6(address) ? '-6' : '-4';
    if ((await look(family, 'route', 'show', 'table', 'local', 'exact', address)).trim() !== '')
      fail(address, 'the host has');
  }
  if (parent === undefined) return;
  const answers = await Promise.all(probed.map((address) => isNeighbour(address, parent)));
  const taken = probed.find((_address, index) => answers[index] === true);
  if (taken !== undefined) fail(taken, `somebody in the network of ${parent} has`);
}

/** How long a neighbour may take to answer. */
const probeMs = 500;
const found = /\b(REACHABLE|STALE|DELAY|PROBE|PERMANENT)\b/;

/** The kernel is made to ask, and what it learned is read. */
async function isNeighbour(address: string, parent: string): Promise<boolean> {
  const entry = ['to', address, 'dev', parent];
  const deadline = performance.now() + probeMs;
  await look('neighbour', 'replace', address, 'dev', parent, 'use');
  for (;;) {
    const shown = await look('neighbour', 'show', ...entry);
    if (found.test(shown)) return true;
    if (shown.includes('FAILED') || performance.now() > deadline) break;
    await sleep(20);
  }
  await look('neighbour', 'delete', address, 'dev', parent);
  return false;
}

/** Whether the host answers for addresses in the network of an interface. */
export const hasProxies = async (name: string): Promise<boolean> =>
  (await look('neighbour', 'show', 'proxy', 'dev', name)).trim() !== '';
