// Static routes of the host to subnets behind a container's interface: added with the interface, removed with it.
import { createHash } from 'node:crypto';
import { exec, ExecError } from '../../../lib/exec.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { DriverError } from '../../driver-error.ts';
import type { NicRun } from '../../device-parts.ts';
import { findProgram } from '../host/programs.ts';

/** Marks our routes for `ip route`: a number that no routing daemon is known to use. */
const protocol = '73';

/** Each interface has its own metric, so that two containers may route the same subnet and neither removes the other's route. */
const metricOf = (nic: NicRun): string =>
  `${1024 + Number.parseInt(createHash('sha256').update(nic.hostName).digest('hex').slice(0, 5), 16)}`;

/** The host interface of the routes. */
const deviceOf = (nic: NicRun): string => nic.link ?? nic.hostName;

/** Arguments of `ip` for one route of an interface. */
export const routeArguments = (nic: NicRun, action: 'replace' | 'del', route: string): readonly string[] => [
  route.includes(':') ? '-6' : '-4',
  'route',
  action,
  route,
  'dev',
  deviceOf(nic),
  'proto',
  protocol,
  'metric',
  metricOf(nic),
];

interface RouteLine {
  readonly dev?: string;
}

/** The interface of another route to exactly this subnet; undefined: there is none. Pure. */
export const routeElsewhere = (listing: string, nic: NicRun): string | undefined =>
  (listing.trim() === '' ? [] : (JSON.parse(listing) as readonly RouteLine[])).find(({ dev }) => dev !== deviceOf(nic))
    ?.dev;

const limit = { timeoutMs: 15_000 };
const ip = async (args: readonly string[], okCodes: readonly number[] = [0]): Promise<string> =>
  (await exec([findProgram('ip') ?? 'ip', ...args], { ...limit, okCodes })).stdout;

/** Idempotent. Throws DriverError Exists if the host reaches a subnet by another interface, Failed if the kernel refuses a route (IPv6 to a
 *  bridge without IPv6). */
export async function addRoutes(nic: NicRun): Promise<void> {
  for (const route of nic.routes ?? []) {
    const family = route.includes(':') ? '-6' : '-4';
    const other = routeElsewhere(await ip(['-j', family, 'route', 'show', 'exact', route]), nic);
    if (other !== undefined) {
      const why = `the host has a route to ${route} by ${other} already: take that away, or leave the route out here`;
      throw new DriverError('Exists', `Device ${nic.device}: ${why}`);
    }
    await ip(routeArguments(nic, 'replace', route)).catch((error: unknown) => {
      const reason = error instanceof ExecError ? error.stderr.trim() : errorText(error);
      const why = `the host cannot route ${route} to ${deviceOf(nic)}: ${reason}`;
      throw new DriverError('Failed', `Device ${nic.device}: ${why}`, error);
    });
  }
}

/** Idempotent, also for missing interfaces. */
export async function dropRoutes(nic: NicRun, kept: readonly string[] = []): Promise<void> {
  for (const route of nic.routes ?? []) {
    if (!kept.includes(route)) await ip(routeArguments(nic, 'del', route), [0, 1, 2]);
  }
}
