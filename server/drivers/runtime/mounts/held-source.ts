// Holds the source of a mount by a descriptor once it is known where it lies: links that are exchanged afterwards change nothing.
import { closeSync, readlinkSync, realpathSync } from 'node:fs';
import { isBelow } from '../../../api/project/project-restrictions.ts';
import { DriverError } from '../../driver-error.ts';
import type { Libc } from '../host/syscalls.ts';

export interface HeldSource {
  /** Leads to what was looked at for as long as it is held. */
  readonly path: string;
  close(): void;
}

/**
 * Follows the links of `source` as they are at this moment, then asks the kernel where that led. `within`: directories of the host, whose
 * own places nobody but its administrator can change; absent: anywhere, and nothing is held.
 */
export function holdSource(
  libc: Pick<Libc, 'holdPath'>,
  source: string,
  within: readonly string[] | undefined,
): HeldSource {
  if (within === undefined) return { path: source, close() {} };
  const fd = libc.holdPath(source);
  if (fd < 0) throw new DriverError('Failed', `Cannot take ${source} for mounting`);
  const path = `/proc/self/fd/${fd}`;
  try {
    const place = readlinkSync(path);
    if (!within.some((dir) => isBelow(place, placeOf(dir))))
      throw new DriverError(
        'Invalid',
        `Cannot show ${source} of the host: it leads out of ${within.join(', ')}, which is all that its project may show`,
      );
    return { path, close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function placeOf(dir: string): string {
  try {
    return realpathSync(dir);
  } catch {
    return dir;
  }
}
