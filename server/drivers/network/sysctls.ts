// The kernel switches of a bridge network: which are needed is pure, setting them is thin.
import { join } from 'node:path';
import { driverErrors } from '../driver-error.ts';
import { confOf, forwardIpv4, forwardIpv6, readSwitch, setSwitch } from '../kernel-switches.ts';
import { familyOf, type NetworkPlan } from './config.ts';

export interface Switch {
  readonly path: string;
  readonly value: string;
}

/** For the bridge itself. It is a router: it must not believe announcements of containers. */
export function bridgeSwitches(plan: NetworkPlan): Switch[] {
  const own = (key: string, value: string): Switch => ({ path: join(confOf(6, plan.name), key), value });
  if (familyOf(plan, 6) === undefined) return [own('disable_ipv6', '1')];
  return [own('disable_ipv6', '0'), own('accept_ra', '0'), own('autoconf', '0'), own('accept_dad', '0')];
}

export async function hostHasIpv6(): Promise<boolean> {
  return (await readSwitch(join(confOf(6, 'all'), 'disable_ipv6'))) === '0';
}

export async function applySwitches(plan: NetworkPlan): Promise<void> {
  const ipv6 = familyOf(plan, 6);
  if ((await readSwitch(join(confOf(6, plan.name), 'disable_ipv6'))) === undefined) {
    if (ipv6 !== undefined) {
      throw driverErrors.notSupported(`network ${plan.name}: ipv6.address is set but this host has no IPv6`);
    }
  } else {
    for (const each of bridgeSwitches(plan)) await setSwitch(each.path, each.value);
  }
  if (familyOf(plan, 4)?.routing === true) await forwardIpv4();
  if (ipv6?.routing === true) await forwardIpv6();
}
