// Takes scheduled snapshots of custom volumes and deletes expired ones, once a minute.
import { ownedKey, volumeIdOf, volumeKey } from '../../records/record-names.ts';
import { never } from '../../api/schema/common-schemas.ts';
import { daemonCaller } from '../shared/caller.ts';
import { ownedBy } from '../shared/owned-records.ts';
import type { ScheduledTask } from '../shared/scheduler.ts';
import { isExpired } from '../shared/snapshot-names.ts';
import { inOneOperation, isScheduledAt } from '../shared/snapshot-tasks.ts';
import type { VolumeSnapshots } from './volume-snapshots.ts';
import { customUrl } from '../shared/volume-urls.ts';
import { warnedVolume } from '../warnings/warned-objects.ts';
import { warnOfFailure, type WarningSink } from '../warnings/warning-sink.ts';
import { volumeLock, type VolumesDeps } from './volume-checks.ts';

type ScheduleDeps = Pick<VolumesDeps, 'records' | 'operations' | 'locks'> & {
  readonly snapshots: VolumeSnapshots;
  readonly warnings: WarningSink;
};

export function volumeSnapshotTasks(deps: ScheduleDeps): readonly ScheduledTask[] {
  return [
    { name: 'Taking scheduled snapshots of storage volumes', run: (minute) => takeScheduled(deps, minute) },
    { name: 'Deleting expired snapshots of storage volumes', run: (minute) => pruneExpired(deps, minute) },
  ];
}

/** The ready volumes of all projects. */
const readyVolumes = ({ records }: ScheduleDeps) =>
  records.volumes
    .list()
    .filter(({ document }) => document.lifecycle === 'ready')
    .map(({ name, document }) => ({ volume: volumeIdOf(name), document }));

async function takeScheduled(deps: ScheduleDeps, minute: Date): Promise<void> {
  const due = readyVolumes(deps).filter(({ document }) => isScheduledAt(document.config['snapshots.schedule'], minute));
  const resources = { storage_volumes: due.map(({ volume }) => customUrl(volume)) };
  const turns = due.map(({ volume }) => ({
    label: volumeKey(volume),
    lock: volumeLock(volume),
    run: (signal: AbortSignal) => {
      const about = {
        type: 'scheduledSnapshot',
        entity: warnedVolume(deps.records, volumeKey(volume)),
        signal,
      } as const;
      return warnOfFailure(deps.warnings, about, () => deps.snapshots.takeNow(daemonCaller, volume, {}, signal));
    },
  }));
  await inOneOperation(deps, { description: 'Taking scheduled snapshots of storage volumes', resources }, turns);
}

async function pruneExpired(deps: ScheduleDeps, minute: Date): Promise<void> {
  const expiredOf = (uuid: string): readonly string[] =>
    ownedBy(deps.records, 'volumeSnapshots', uuid)
      .filter(
        ({ document }) => document.lifecycle === 'ready' && isExpired(document.expiresAt ?? never.expires, minute),
      )
      .map((snapshot) => snapshot.name);
  const found = readyVolumes(deps)
    .map(({ volume, document: { uuid } }) => ({ volume, uuid, names: expiredOf(uuid) }))
    .filter(({ names }) => names.length > 0);
  const resources = { storage_volumes: found.map(({ volume }) => customUrl(volume)) };
  const turns = found.map(({ volume, uuid, names }) => ({
    label: volumeKey(volume),
    lock: volumeLock(volume),
    run: async (signal: AbortSignal) => {
      for (const name of names) {
        // Its expiry may have been extended, or the volume renamed, while we waited for it.
        const isSame = deps.records.volumes.get(volumeKey(volume))?.document.uuid === uuid;
        const document = deps.records.volumeSnapshots.get(ownedKey(uuid, name))?.document;
        if (!isSame || document === undefined || !isExpired(document.expiresAt ?? never.expires, minute)) continue;
        await deps.snapshots.dropNow(daemonCaller, volume, name, signal);
      }
    },
  }));
  await inOneOperation(deps, { description: 'Deleting expired snapshots of storage volumes', resources }, turns);
}
