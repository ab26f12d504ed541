// Resolves `auto` and, at creation, missing addresses to free subnets; pure, shared by all network drivers.
import { driverErrors } from '../driver-error.ts';
import type { IpFamily } from '../../api/text/ip.ts';
import { pickSubnet, takenSubnets, type Random } from './subnets.ts';

export interface FillOptions {
  readonly creating: boolean;
  /** Addresses and subnets in use: other networks and routes of the host. */
  readonly taken: readonly string[];
  readonly hostHasIpv6: boolean;
  readonly random: Random;
}

export function fillNetworkConfig(
  config: Readonly<Record<string, string>>,
  options: FillOptions,
): Record<string, string> {
  const out = { ...config };
  if (out['bridge.mode'] === 'fan') return out;
  fillFamily(out, 4, options.creating, options);
  fillFamily(out, 6, options.creating && options.hostHasIpv6, options);
  return out;
}

function fillFamily(
  config: Record<string, string>,
  family: IpFamily,
  fillMissing: boolean,
  options: FillOptions,
): void {
  const key = `ipv${family}.address`;
  const current = config[key] ?? '';
  if (current !== 'auto' && !(current === '' && fillMissing)) return;
  const taken = takenSubnets(options.taken);
  const picked = pickSubnet(family, taken, options.random);
  if (picked === undefined) {
    const space = family === 4 ? '10.0.0.0/8' : 'fd42::/16';
    throw driverErrors.failed(`pick ${key}: no free subnet in ${space} besides the routes of this host; set ${key}`);
  }
  config[key] = picked;
  if ((config[`ipv${family}.nat`] ?? '') === '') config[`ipv${family}.nat`] = 'true';
}
