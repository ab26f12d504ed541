// Refuses a custom volume in a shared pool if another member of the cluster has its name: both would be one directory.
import { errors } from '../../api/errors.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import type { Guard, Records } from '../../records/records.ts';
import { volumeIdOf } from '../../records/record-names.ts';

/** The transaction itself detects concurrent ones. */
export const sharedVolumeGuard =
  (records: Records): Guard =>
  (changes) => {
    if (records.member === undefined) return;
    for (const { kind, name } of changes.puts) {
      if (kind !== 'volumes' || records.volumes.has(name) || !isInSharedPool(records, name)) continue;
      const isBrought = changes.brought.some((each) => each.kind === 'volumes' && each.name === name);
      if (!isBrought && records.others.get('volumes', name) !== undefined) throw errors.exists('storage volume', name);
    }
  };

const isInSharedPool = (records: Records, volume: string): boolean =>
  isTrue(records.pools.get(volumeIdOf(volume).pool)?.document.config['source.shared']);
