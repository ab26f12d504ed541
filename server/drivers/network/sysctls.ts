// The kernel switches of a bridge network: which are needed is pure, setting them is thin. Forwarding is never switched off
// again: others on the host may rely on it.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DriverError } from '../driver-error.ts';
import { familyOf, type NetworkPlan } from './config.ts';

const root = '/proc/sys/net';
const conf6 = join(root, 'ipv6/conf');

export interface Switch {
  readonly path: string;
  readonly value: string;
}

/** For the bridge itself. It is a router: it must not believe announcements of containers. */
export function bridgeSwitches(plan: NetworkPlan): Switch[] {
  const own = (key: string, value: string): Switch => ({ path: join(conf6, plan.name, key), value });
  if (familyOf(plan, 6) === undefined) return [own('disable_ipv6', '1')];
  return [own('disable_ipv6', '0'), own('accept_ra', '0'), own('autoconf', '0'), own('accept_dad', '0')];
}

export async function hostHasIpv6(): Promise<boolean> {
  return (await readSwitch(join(conf6, 'all/disable_ipv6'))) === '0';
}

export async function applySwitches(plan: NetworkPlan): Promise<void> {
  const ipv6 = familyOf(plan, 6);
  if ((await readSwitch(join(conf6, plan.name, 'disable_ipv6'))) === undefined) {
    if (ipv6 !== undefined) {
      throw new DriverError('NotSupported', `network ${plan.name}: ipv6.address is set but this host has no IPv6`);
    }
  } else {
    for (const each of bridgeSwitches(plan)) await setSwitch(each.path, each.value);
  }
  if (familyOf(plan, 4)?.routing === true) await setSwitch(join(root, 'ipv4/ip_forward'), '1');
  if (ipv6?.routing === true) await forwardIpv6();
}

/** A forwarding host ignores router announcements (and so loses its own default route) unless accept_ra is 2. */
async function forwardIpv6(): Promise<void> {
  const forwarding = join(conf6, 'all/forwarding');
  if ((await readSwitch(forwarding)) === '1') return;
  for (const name of await readdir(conf6)) {
    const path = join(conf6, name, 'accept_ra');
    if ((await readSwitch(path)) === '1') await setSwitch(path, '2');
  }
  await setSwitch(forwarding, '1');
}

async function readSwitch(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
}

async function setSwitch(path: string, value: string): Promise<void> {
  if ((await readSwitch(path)) === value) return;
  try {
    await writeFile(path, value);
  } catch (error) {
    throw new DriverError('Failed', `set ${path} to ${value}: ${(error as Error).message}`, error);
  }
}
