// Takes scheduled snapshots and deletes expired ones, once a minute (real system section 19).
import { isTrue } from '../../../api/container/container-config.ts';
import { isDueAtStart } from '../../../api/container/snapshot-schedule.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { daemonCaller } from '../../shared/caller.ts';
import type { ScheduledTask } from '../../shared/scheduler.ts';
import type { ContainerDeps } from '../deps.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { containerUrl } from '../../../api/project/project-names.ts';
import { isExpired } from '../../shared/snapshot-names.ts';
import { inOneOperation, isScheduledAt } from '../../shared/snapshot-tasks.ts';
import { warnedContainer } from '../../warnings/warned-objects.ts';
import { warnOfFailure } from '../../warnings/warning-sink.ts';
import { snapshotKey, snapshotsOf } from '../shared/snapshot-records.ts';
import type { Snapshots } from './snapshots.ts';

type ScheduleDeps = Pick<
  ContainerDeps,
  'records' | 'runtime' | 'view' | 'operations' | 'locks' | 'log' | 'warnings'
> & { readonly snapshots: Snapshots };

type StartDeps = Pick<ScheduleDeps, 'records' | 'view' | 'log' | 'warnings' | 'snapshots'>;

export function snapshotTasks(deps: ScheduleDeps): readonly ScheduledTask[] {
  return [
    { name: 'Taking scheduled snapshots', run: (minute) => takeScheduled(deps, minute) },
    { name: 'Deleting expired snapshots', run: (minute) => pruneExpired(deps, minute) },
  ];
}

function dueContainers(deps: ScheduleDeps, minute: Date): readonly string[] {
  return deps.records.containers
    .list()
    .filter((entry) => {
      if (entry.document.lifecycle !== 'ready') return false;
      const { config } = deps.view.expanded(entry);
      if (!isScheduledAt(config['snapshots.schedule'], minute)) return false;
      const isStopped = deps.runtime.probe(entry.name).status === 'stopped';
      return !isStopped || isTrue(config['snapshots.schedule.stopped'] ?? '');
    })
    .map((entry) => entry.name);
}

/** For schedules with @startup. A failed snapshot does not prevent the container's start. */
export async function snapshotAtStart(deps: StartDeps, name: string, signal: AbortSignal): Promise<void> {
  const { config } = deps.view.expanded(readyContainer(deps.records, name));
  if (!isDueAtStart(config['snapshots.schedule'] ?? '')) return;
  await takeWarned(deps, name, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    deps.log.error(`Snapshotting ${name} before its start failed: ${errorText(error)}`);
  });
}

async function takeScheduled(deps: ScheduleDeps, minute: Date): Promise<void> {
  const names = dueContainers(deps, minute);
  await forContainers(deps, 'Taking scheduled snapshots', names, (name, signal) => takeWarned(deps, name, signal));
}

function takeWarned({ records, warnings, snapshots }: StartDeps, name: string, signal: AbortSignal): Promise<void> {
  const about = { type: 'scheduledSnapshot', entity: warnedContainer(records, name), signal } as const;
  return warnOfFailure(warnings, about, () => snapshots.takeNow(daemonCaller, name, {}, signal));
}

async function pruneExpired(deps: ScheduleDeps, minute: Date): Promise<void> {
  const expired = new Map<string, readonly string[]>();
  for (const { name, document } of deps.records.containers.list()) {
    if (document.lifecycle !== 'ready') continue;
    const old = snapshotsOf(deps.records, document.uuid)
      .filter((snapshot) => snapshot.document.lifecycle === 'ready' && isExpired(snapshot.document.expiresAt, minute))
      .map((snapshot) => snapshot.name);
    if (old.length > 0) expired.set(name, old);
  }
  await forContainers(deps, 'Deleting expired snapshots', [...expired.keys()], async (name, signal) => {
    for (const snapshot of expired.get(name) ?? []) {
      // Its expiry may have been extended while we waited for the container.
      const uuid = deps.records.containers.get(name)?.document.uuid ?? '';
      const found = deps.records.snapshots.get(snapshotKey(uuid, snapshot))?.document;
      if (found === undefined || !isExpired(found.expiresAt, minute)) continue;
      await deps.snapshots.dropNow(daemonCaller, name, snapshot, signal);
    }
  });
}

const forContainers = (
  deps: ScheduleDeps,
  description: string,
  names: readonly string[],
  work: (name: string, signal: AbortSignal) => Promise<void>,
): Promise<void> =>
  inOneOperation(
    deps,
    { description, resources: { containers: names.map((name) => containerUrl(name)) } },
    names.map((name) => ({ label: name, lock: lockOf(name), run: (signal) => work(name, signal) })),
  );
