// Stops every container for a host shutdown: in order, each within its time, and remembered as running (real system section 4).
import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '../../../lib/shared/reason.ts';
import { daemonCaller, type Caller } from '../../shared/caller.ts';
import { anyContainer, lockOf } from '../../shared/find-container.ts';
import { type StateDeps } from '../shared/state-deps.ts';
import { afterStop, halt, publishStopped } from './stop.ts';
import type { ContainerEntry } from '../../shared/container-view.ts';

type Config = Readonly<Record<string, string>>;

const usualSeconds = 30;
const longestSeconds = 2 ** 31 / 1000 - 60;
/** How long a container may be busy with something else, in addition to its stop timeout. */
const patienceMs = 40_000;

/** Highest boot.stop.priority first; each group stops together. Pure. */
export function stopGroups(
  entries: readonly ContainerEntry[],
  configOf: (entry: ContainerEntry) => Config,
): readonly (readonly ContainerEntry[])[] {
  const groups = new Map<number, ContainerEntry[]>();
  for (const entry of entries) {
    const priority = Number(configOf(entry)['boot.stop.priority'] ?? '') || 0;
    groups.set(priority, [...(groups.get(priority) ?? []), entry]);
  }
  return [...groups].toSorted(([a], [b]) => b - a).map(([, group]) => group);
}

/** Seconds for a clean stop; 0: by force at once. Pure. */
export function shutdownSeconds(config: Config): number {
  const value = config['boot.host_shutdown_timeout'] ?? '';
  const seconds = value === '' ? usualSeconds : Number(value);
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), longestSeconds) : usualSeconds;
}

/** The caller holds the container's lock. Stops it within its shutdown time, or by force. */
export async function stopToLeave(
  deps: StateDeps,
  caller: Caller,
  name: string,
  isForced: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { config } = deps.view.expanded(anyContainer(deps.records, name));
  const timeoutMs = isForced ? 0 : shutdownSeconds(config) * 1000;
  await haltInTime(deps, caller, name, timeoutMs, signal);
  await afterStop(deps, caller, name, signal);
}

/** Cleanly within the time, or by force. The caller does the work after the stop. */
async function haltInTime(
  deps: StateDeps,
  caller: Caller,
  name: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const isStopped = (): boolean => deps.runtime.probe(name).status === 'stopped';
  const haltBy = async (force: boolean): Promise<void> => {
    const wanted = { force, timeoutMs: force ? undefined : timeoutMs };
    await halt(deps, name, wanted, signal);
    publishStopped(deps, caller, name, wanted);
  };
  const byForce = (error: unknown): void => {
    if (!isStopped()) deps.log.info(`${name} is stopped by force: ${errorText(error)}`);
  };
  if (timeoutMs > 0) await haltBy(false).catch(byForce);
  if (!isStopped()) await haltBy(true);
}

/** Never throws: logs containers that cannot be stopped, and continues with the next. */
export async function stopForHost(deps: StateDeps): Promise<void> {
  const running = deps.records.containers.list().filter(({ name }) => deps.runtime.probe(name).status !== 'stopped');
  for (const group of stopGroups(running, (entry) => deps.view.expanded(entry).config)) {
    await Promise.all(group.map((entry) => stopOne(deps, entry)));
  }
}

async function stopOne(deps: StateDeps, entry: ContainerEntry): Promise<void> {
  const { name } = entry;
  const timeoutMs = shutdownSeconds(deps.view.expanded(entry).config) * 1000;
  const over = new AbortController();
  const isStopped = (): boolean => deps.runtime.probe(name).status === 'stopped';
  try {
    const inTurn = deps.locks.run(lockOf(name), async () => {
      if (!over.signal.aborted && !isStopped()) await stopInTime(deps, name, timeoutMs);
    });
    await Promise.race([inTurn, sleep(timeoutMs + patienceMs, undefined, { signal: over.signal, ref: false })]);
    over.abort();
    // The host does not wait, whatever delays the stop.
    if (!isStopped()) await deps.runtime.stop(name, { force: true }, new AbortController().signal);
  } catch (error) {
    deps.log.error(`Stopping ${name} with the host failed: ${errorText(error)}`);
  } finally {
    over.abort();
  }
}

/** The caller holds the container's lock. */
async function stopInTime(deps: StateDeps, name: string, timeoutMs: number): Promise<void> {
  const never = new AbortController().signal;
  await haltInTime(deps, daemonCaller, name, timeoutMs, never);
  // Only an ephemeral container is not restarted.
  if (deps.records.containers.get(name)?.document.ephemeral === true) await afterStop(deps, daemonCaller, name, never);
}
