// Whether something is mounted at the path of a volume, and how it is unmounted.
import { readFile, rmdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { exec, ExecError } from '../../../lib/exec.ts';
import { DriverError } from '../../driver-error.ts';
import { mountedAt } from '../mountinfo.ts';
import { hasCode } from '../remove-tree.ts';

const longMs = 600_000;

export const run = (argv: readonly string[], timeoutMs = longMs, signal?: AbortSignal) =>
  exec(argv, { timeoutMs }, signal);

export async function isMounted(path: string): Promise<boolean> {
  return mountedAt(await readFile('/proc/self/mountinfo', 'utf8'), path) !== undefined;
}

/** Writes all to the device first: an error of that is thrown, not lost, unless the volume `goes` (a full pool is emptied
 *  so). The directory goes, too. Not mounted is fine. */
export async function unmountDevice(path: string, { goes = false } = {}): Promise<void> {
  for (let attempt = 1; await isMounted(path); attempt += 1) {
    if (attempt === 1 && !goes) await run(['sync', '-f', '--', path]);
    try {
      await run(['umount', path]);
    } catch (error) {
      if (!(error instanceof ExecError) || !/target is busy/.test(error.stderr)) throw error;
      if (attempt >= 20) throw new DriverError('InUse', `${path} cannot be unmounted: something on the host uses it`);
      await sleep(25 * attempt);
    }
  }
  await rmdir(path).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
}
