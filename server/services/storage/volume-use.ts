// Containers begin to use custom volumes only while no change of a volume on the host is under way, and such a change waits for them.
import type { ServiceParts } from '../shared/service-parts.ts';
import { volumeKey, type VolumeId } from '../../records/record-names.ts';
import type { Records } from '../../records/records.ts';
import { usedVolumes } from '../shared/used-by.ts';

const lockOfKey = (key: string): string => `use/${key}`;

export const useLock = (volume: VolumeId): string => lockOfKey(volumeKey(volume));

/** Around work that starts the container or plugs its devices, and looks its volumes up. The caller holds the container's lock. */
export async function whileVolumesStay<T>(
  { records, locks }: Pick<ServiceParts, 'records' | 'locks'>,
  container: string,
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    const keys = locksOf(records, container);
    const done = await locks.shareAll(keys, async () =>
      // A volume may have moved while this waited for it.
      isSame(keys, locksOf(records, container)) ? { result: await work() } : undefined,
    );
    if (done !== undefined) return done.result;
  }
}

const locksOf = (records: Records, container: string): readonly string[] =>
  usedVolumes(records, container).map(lockOfKey);

const isSame = (before: readonly string[], now: readonly string[]): boolean =>
  before.length === now.length && before.every((key) => now.includes(key));
