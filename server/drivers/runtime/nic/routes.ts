// Static routes of the host to subnets behind a container's interface: added with the interface, removed with it.
import { createHash } from 'node:crypto';
import { exec, ExecError } from '../../../lib/exec.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { driverErrors } from '../../driver-error.ts';
import type { NicRun } from '../../device-parts.ts';
import { findProgram } from '../host/programs.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

/** Marks our routes for `ip route`: a number that no routing daemon is known to use. */
const protocol = '73';

/** Each interface has its own metric, so that two containers may route the same subnet and neither removes the other's route. */
const metricOf = (nic: NicRun): string =>
  `${1024 + Number.parseInt(createHash('sha256').update(nic.hostName).digest('hex').slice(0, 5), 16)}`;

export interface HostRoute {
  readonly to: string;
  readonly dev: string;
  readonly via?: string;
  /** Absent: the main one. */
  readonly table?: number;
}

/** Routes to the subnets behind the interface, and to its own addresses if the host is their router. Those of ipvlan lead to `lo`: only for
 *  an address with a route to another interface does the host answer in the network of the parent. */
export function hostRoutes(nic: NicRun): readonly HostRoute[] {
  const { routing } = nic;
  const dev = nic.kind === 'ipvlan' ? 'lo' : (nic.link ?? nic.hostName);
  const own = (routing?.addresses ?? []).flatMap((to) => {
    const table = isIpv6(to) ? routing?.tables.ipv6 : routing?.tables.ipv4;
    return [{ to, dev }, ...(table === undefined ? [] : [{ to, dev, table }])];
  });
  const behind = (nic.routes ?? []).map((to) => {
    const via = routing?.addresses.find((address) => isIpv6(address) === isIpv6(to));
    return { to, dev, ...withoutUndefined({ via }) };
  });
  return [...own, ...behind];
}

export const isIpv6 = (text: string): boolean => text.includes(':');

export const routeArguments = (nic: NicRun, action: 'replace' | 'del', route: HostRoute): readonly string[] => [
  isIpv6(route.to) ? '-6' : '-4',
  'route',
  action,
  route.to,
  ...(route.via === undefined ? [] : ['via', route.via]),
  'dev',
  route.dev,
  'proto',
  protocol,
  'metric',
  metricOf(nic),
  ...(route.table === undefined ? [] : ['table', `${route.table}`]),
];

interface RouteLine {
  readonly dev?: string;
}

/** The interface of another route to exactly this subnet; undefined: there is none. Pure. */
export const routeOnOtherDevice = (listing: string, ours: string): string | undefined =>
  (listing.trim() === '' ? [] : (JSON.parse(listing) as readonly RouteLine[])).find(({ dev }) => dev !== ours)?.dev;

const limit = { timeoutMs: 15_000 };
export const ip = async (args: readonly string[], okCodes: readonly number[] = [0]): Promise<string> =>
  (await exec([findProgram('ip') ?? 'ip', ...args], { ...limit, okCodes })).stdout;

/** Idempotent. Throws DriverError Exists if the host reaches a subnet by another interface, Failed if the kernel refuses a route (IPv6 to a
 *  bridge without IPv6). */
export async function addRoutes(nic: NicRun): Promise<void> {
  for (const route of hostRoutes(nic)) {
    await checkRoute(nic, route);
    await ip(routeArguments(nic, 'replace', route)).catch((error: unknown) => {
      const reason = error instanceof ExecError ? error.stderr.trim() : errorText(error);
      const why = `the host cannot route ${route.to} to ${route.dev}: ${reason}`;
      throw driverErrors.failed(`Device ${nic.device}: ${why}`, error);
    });
  }
}

async function checkRoute(nic: NicRun, { to, dev, table }: HostRoute): Promise<void> {
  if (table !== undefined) return;
  const other = routeOnOtherDevice(await ip(['-j', isIpv6(to) ? '-6' : '-4', 'route', 'show', 'exact', to]), dev);
  if (other === undefined) return;
  const why = `the host has a route to ${to} by ${other} already: take that away, or leave it out here`;
  throw driverErrors.exists(`Device ${nic.device}: ${why}`);
}

/** Idempotent, also for missing interfaces. */
export async function dropRoutes(nic: NicRun, kept?: NicRun): Promise<void> {
  const stays = new Set((kept === undefined ? [] : hostRoutes(kept)).map((route) => JSON.stringify(route)));
  for (const route of hostRoutes(nic)) {
    if (!stays.has(JSON.stringify(route))) await ip(routeArguments(nic, 'del', route), [0, 1, 2]);
  }
}
