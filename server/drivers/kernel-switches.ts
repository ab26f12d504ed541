// Switches of the kernel's network below /proc/sys/net, shared by networks and nics. Forwarding is never switched off again: others on
// the host may rely on it.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { driverErrors } from './driver-error.ts';

const root = '/proc/sys/net';

/** Switches of an interface, or of `all` of them. */
export const confOf = (family: 4 | 6, name: string): string => join(root, `ipv${family}`, 'conf', name);

export const forwardIpv4 = (): Promise<void> => setSwitch(join(root, 'ipv4/ip_forward'), '1');

/** A forwarding host ignores router announcements (and so loses its own default route) unless accept_ra is 2. */
export async function forwardIpv6(): Promise<void> {
  const forwarding = join(confOf(6, 'all'), 'forwarding');
  if ((await readSwitch(forwarding)) === '1') return;
  for (const name of await readdir(join(root, 'ipv6/conf'))) {
    const path = join(confOf(6, name), 'accept_ra');
    if ((await readSwitch(path)) === '1') await setSwitch(path, '2');
  }
  await setSwitch(forwarding, '1');
}

export async function readSwitch(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
}

export async function setSwitch(path: string, value: string): Promise<void> {
  if ((await readSwitch(path)) === value) return;
  try {
    await writeFile(path, value);
  } catch (error) {
    throw driverErrors.failed(`set ${path} to ${value}: ${(error as Error).message}`, error);
  }
}
