// Holds the source of a mount by a descriptor once it is resolved: replacing links later has no effect.
import { closeSync, readlinkSync, realpathSync } from 'node:fs';
import { isBelow } from '../../../api/project/project-restrictions.ts';
import { driverErrors } from '../../driver-error.ts';
import type { Libc } from '../host/syscalls.ts';
import { attempt } from '../../../lib/shared/attempt.ts';

export interface HeldSource {
  /** Leads to the resolved source while it is held. */
  readonly path: string;
  close(): void;
}

/** Follows the current links of `source`, then asks the kernel where that led. `within`: host directories whose own places only the
 *  administrator can change; absent: anywhere, and nothing is held. */
export function holdSource(
  libc: Pick<Libc, 'holdPath'>,
  source: string,
  within: readonly string[] | undefined,
): HeldSource {
  if (within === undefined) return { path: source, close() {} };
  const fd = libc.holdPath(source);
  if (fd < 0) throw driverErrors.failed(`Cannot take ${source} for mounting`);
  const path = `/proc/self/fd/${fd}`;
  try {
    const place = readlinkSync(path);
    if (!within.some((dir) => isBelow(place, placeOf(dir))))
      throw driverErrors.invalid(
        `Cannot show ${source} of the host: it leads out of ${within.join(', ')}, which is all that its project may show`,
      );
    return { path, close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

const placeOf = (dir: string): string => attempt(() => realpathSync(dir), dir);
