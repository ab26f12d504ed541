// Finds mounts at the path of a volume, unmounts them, and waits for programs that still hold them.
import { readFile, rmdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ifMissing } from '../../../lib/shared/missing-files.ts';
import { exec, ExecError } from '../../../lib/exec.ts';
import { driverErrors } from '../../driver-error.ts';
import { mountedAt } from '../mountinfo.ts';

const longMs = 600_000;

export const run = (argv: readonly string[], timeoutMs = longMs, signal?: AbortSignal) =>
  exec(argv, { timeoutMs }, signal);

export async function isMounted(path: string): Promise<boolean> {
  return mountedAt(await readFile('/proc/self/mountinfo', 'utf8'), path) !== undefined;
}

/** Retries for five seconds: a program with an older mount namespace may hold the unmounted device a little longer. */
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

/** Syncs the device first and throws its error, unless the volume is deleted (`goes`), as in a full pool. Also removes the directory.
 *  Succeeds if it is not mounted. */
export async function unmountDevice(path: string, { goes = false } = {}): Promise<void> {
  if (!goes && (await isMounted(path))) await run(['sync', '-f', '--', path]);
  while (await isMounted(path))
    await patiently(() => run(['umount', path]), saysBusy).catch((error: unknown) => {
      if (!saysBusy(error)) throw error;
      throw driverErrors.inUse(`${path} cannot be unmounted: something on the host uses it`, error);
    });
  await rmdir(path).catch(ifMissing);
}

/** Clears the device of a deleted pool: leftover labels would look like data in use. */
export async function wipeDevice(device: string): Promise<void> {
  await patiently(() => run(['wipefs', '--all', '--quiet', device]), saysBusy);
}
