// Finds out from the kernel's processes and cgroups whether a container lives, and cleans up after a dead one.
import { readdirSync, rmdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { exec } from '../../../lib/exec.ts';
import type { Log } from '../../../lib/log.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import {
  type CgroupTree,
  groupPids,
  isFrozen,
  killDir,
  listGroups,
  removeEmptyGroup,
  removeSharedGroup,
  removeGroup,
  setFrozen,
} from '../cgroup/cgroup.ts';
import type { LxcPaths } from '../lxc-paths.ts';
import { findProgram } from '../host/programs.ts';
import { interfaceExists } from '../nic/plug.ts';
import { readCommandLine, readNamespacePids } from '../host/proc.ts';
import { isSameProcess, readProcess } from '../../../lib/shared/processes.ts';
import type { RunningRecord } from './running-record.ts';

export interface LiveProcess {
  readonly pid: number;
  readonly startTime: number;
}

/** The container's init: pid 1 of a namespace directly below ours, in the container's cgroup. */
export function findInit(tree: CgroupTree, group: string): LiveProcess | undefined {
  const depth = readNamespacePids(process.pid).length;
  for (const pid of groupPids(tree, group)) {
    const pids = readNamespacePids(pid);
    if (pids.length !== depth + 1 || pids.at(-1) !== 1) continue;
    const facts = readProcess(pid);
    if (facts !== undefined && !facts.isZombie) return { pid, startTime: facts.startTime };
  }
  return undefined;
}

/** Keys of the containers with any files or cgroups here. Most containers of a booting host have none, and asking the kernel about each
 *  would take time. */
export function findRemains(tree: CgroupTree, paths: LxcPaths): ReadonlySet<string> {
  return new Set([...readdirSync(paths.lxcPath), ...listGroups(tree, paths.groupRoot)]);
}

/** The LXC process that watches this init and cleans up after it; undefined if it was killed. */
export function findMonitor(initPid: number): LiveProcess | undefined {
  const parent = readProcess(initPid)?.parentPid ?? 0;
  const facts = parent > 1 ? readProcess(parent) : undefined;
  if (facts === undefined || !isMonitor(readCommandLine(parent))) return undefined;
  return { pid: parent, startTime: facts.startTime };
}

/** The monitor of a restored container is the program that restored it, under its own name. */
const isMonitor = (commandLine: string): boolean =>
  commandLine.startsWith('[lxc monitor]') || /(^|\/)lxc-checkpoint\s/.test(commandLine);

export const isAlive = (state: RunningRecord): boolean => isSameProcess(state.initPid, state.initStartTime);
export const hasMonitor = (state: RunningRecord): boolean => isSameProcess(state.monitorPid, state.monitorStartTime);

export type Outcome = { readonly kind: 'stop' } | { readonly kind: 'reboot'; readonly init: LiveProcess };

const outcomeTimeoutMs = 30_000;
const pollMs = 2;

/** After the death of init its monitor either makes a new one or ends; otherwise it is killed. `between` is called repeatedly until then:
 *  the monitor may wait for it before a new init. */
export async function awaitOutcome(
  tree: CgroupTree,
  group: string,
  state: RunningRecord,
  between: () => Promise<void>,
): Promise<Outcome> {
  const deadline = performance.now() + outcomeTimeoutMs;
  for (;;) {
    const init = findInit(tree, group);
    if (init !== undefined && init.startTime !== state.initStartTime) return { kind: 'reboot', init };
    if (!isSameProcess(state.monitorPid, state.monitorStartTime)) return { kind: 'stop' };
    if (performance.now() > deadline) {
      process.kill(state.monitorPid, 'SIGKILL');
      return { kind: 'stop' };
    }
    await between();
    await sleep(pollMs);
  }
}

/** A new init exists a little before LXC counts its container as running, and actions in between fail or kill it. Also returns if that
 *  never happens: the death of the new init is then the next exit to handle. */
export async function awaitRunning(paths: LxcPaths, name: string, init: LiveProcess): Promise<void> {
  const deadline = performance.now() + outcomeTimeoutMs;
  const place = ['-P', paths.lxcPath, '-n', paths.key(name)];
  while (isSameProcess(init.pid, init.startTime) && performance.now() < deadline) {
    try {
      await exec([findProgram('lxc-wait') ?? 'lxc-wait', ...place, '-s', 'RUNNING', '-t', '1'], { timeoutMs: 3_000 });
      return;
    } catch {
      await sleep(pollMs);
    }
  }
}

/** Waits for the kernel to remove interfaces and cgroups of a dead container; removes them itself if that takes long. */
export async function clearRemains(
  tree: CgroupTree,
  paths: LxcPaths,
  state: Pick<RunningRecord, 'name' | 'nics'>,
  log: Log,
): Promise<void> {
  for (const nic of Object.values(state.nics)) await removeInterface(nic, log);
  for (const group of [paths.group(state.name), paths.monitorGroup(state.name)]) {
    const deadline = performance.now() + 2_000;
    while (!removeGroup(tree, group)) {
      if (performance.now() > deadline) {
        log.warn('a control group cannot be removed', { container: state.name, group });
        break;
      }
      await sleep(pollMs);
    }
  }
}

/** The kernel removes both ends with the container's network namespace, but not at once. Gives up after half a second. */
export async function interfaceGone(name: string): Promise<void> {
  const deadline = performance.now() + 500;
  while (interfaceExists(name) && performance.now() < deadline) await sleep(pollMs);
}

async function removeInterface(name: string, log: Log): Promise<void> {
  await interfaceGone(name);
  if (!interfaceExists(name)) return;
  try {
    await exec([findProgram('ip') ?? 'ip', 'link', 'delete', name], { timeoutMs: 10_000 });
  } catch (error) {
    if (interfaceExists(name)) log.warn('cannot remove an interface', { interface: name, reason: errorText(error) });
  }
}

/** Ends leftovers of a failed start: processes first, then the rest. */
export async function clearAfterFailedStart(
  tree: CgroupTree,
  paths: LxcPaths,
  state: Pick<RunningRecord, 'name' | 'nics'>,
  log: Log,
): Promise<void> {
  const groups = [paths.group(state.name), paths.monitorGroup(state.name)];
  const remaining = (): readonly number[] => groups.flatMap((group) => groupPids(tree, group));
  const started = performance.now();
  while (remaining().length > 0) {
    const waited = performance.now() - started;
    // The monitor cleans up by itself; it gets a moment before everything is killed.
    if (waited > 1_000) {
      for (const pid of remaining()) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // Gone in between.
        }
      }
    }
    if (waited > 5_000) {
      log.warn('processes of a failed start are still there', { container: state.name });
      break;
    }
    await sleep(pollMs);
  }
  await clearRemains(tree, paths, state, log);
}

/** See RuntimeDriver.killPaths: includes the monitor, which may be about to start the container. */
export const killPathsOf = ({ tree, paths }: { readonly tree: CgroupTree; readonly paths: LxcPaths }, name: string) =>
  [paths.group(name), paths.monitorGroup(name)].flatMap((group) => killDir(tree, group) ?? []);

const freezeTimeoutMs = 10_000;

/** Call before a stop: a frozen process can neither die nor receive signals. By force also kills its init. */
export async function makeReceptive(
  tree: CgroupTree,
  group: string,
  state: RunningRecord,
  force: boolean,
): Promise<void> {
  if (!force) {
    if (isFrozen(tree, group)) await setFrozen(tree, group, false, freezeTimeoutMs);
    return;
  }
  if (isAlive(state)) process.kill(state.initPid, 'SIGKILL');
  await setFrozen(tree, group, false, freezeTimeoutMs).catch(() => {});
}

/** Removes empty parents of cgroups and of run directories. */
export function removeEmptyPlaces(tree: CgroupTree, paths: LxcPaths): void {
  for (const group of paths.groupParents) removeEmptyGroup(tree, group);
  removeSharedGroup(tree, paths.sharedGroup);
  try {
    rmdirSync(paths.lxcPath);
  } catch {
    // It is not empty.
  }
}
