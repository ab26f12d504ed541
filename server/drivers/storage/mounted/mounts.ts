// Whether something is mounted at the path of a volume, how it is unmounted, and how long what was just let go is waited for.
import { readFile, rmdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ifMissing } from '../../../lib/shared/missing-files.ts';
import { exec, ExecError } from '../../../lib/exec.ts';
import { DriverError } from '../../driver-error.ts';
import { mountedAt } from '../mountinfo.ts';

const longMs = 600_000;

export const run = (argv: readonly string[], timeoutMs = longMs, signal?: AbortSignal) =>
  exec(argv, { timeoutMs }, signal);

export async function isMounted(path: string): Promise<boolean> {
  return mountedAt(await readFile('/proc/self/mountinfo', 'utf8'), path) !== undefined;
}

/** Tries again for five seconds: a program with a view of the mounts as they were may hold what was unmounted a little longer. */
export async function patiently<T>(work: () => Promise<T>, isBusy: (error: unknown) => boolean): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= 20 || !isBusy(error)) throw error;
      await sleep(25 * attempt);
    }
  }
}

const saysBusy = (error: unknown): boolean =>
  error instanceof ExecError && /target is busy|Device or resource busy/.test(error.stderr);

/** Writes all to the device first: an error of that is thrown, not lost, unless the volume `goes` (a full pool is emptied
 *  so). The directory goes, too. Not mounted is fine. */
export async function unmountDevice(path: string, { goes = false } = {}): Promise<void> {
  if (!goes && (await isMounted(path))) await run(['sync', '-f', '--', path]);
  while (await isMounted(path))
    await patiently(() => run(['umount', path]), saysBusy).catch((error: unknown) => {
      if (!saysBusy(error)) throw error;
      throw new DriverError('InUse', `${path} cannot be unmounted: something on the host uses it`, error);
    });
  await rmdir(path).catch(ifMissing);
}

/** The device was that of a pool until now: its labels would pass for something that somebody needs. */
export async function wipeDevice(device: string): Promise<void> {
  await patiently(() => run(['wipefs', '--all', '--quiet', device]), saysBusy);
}
