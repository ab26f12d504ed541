// Takes over one container after a time without a daemon: gone, ended, running, rebooted, or cut off while it started. Changes no running
// container.
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { errorText } from '../../../lib/shared/reason.ts';
import { type CgroupTree, groupPids, removeGroup, setFrozen } from '../cgroup/cgroup.ts';
import { awaitRunning, clearAfterFailedStart, findInit, findMonitor, type LiveProcess } from './liveness.ts';
import { readLimits } from '../cgroup/limits.ts';
import { unloadProfile } from '../apparmor/load.ts';
import { type FileDeps, unmountFiles } from '../mounts/container-files.ts';
import { readHostFacts } from '../cgroup/host-facts.ts';
import { applyAfterStart } from '../cgroup/apply-limits.ts';
import type { ExitSpool } from './exit-spool.ts';
import type { Exits } from './exits.ts';
import type { LxcLive } from './live-devices.ts';
import type { LxcPaths } from '../lxc-paths.ts';
import { readCommandLine } from '../host/proc.ts';
import { isSameProcess, readBootId, readProcess } from '../../../lib/shared/processes.ts';
import {
  readRunningRecord,
  removeRunningRecord,
  type RunningRecord,
  started,
  withProcesses,
} from './running-record.ts';

type RecoverDeps = FileDeps & { readonly tree: CgroupTree };

/** The runtime's own records of containers, and who acts on their changes. */
export interface RecoveryBook {
  readonly live: Pick<LxcLive, 'afterCrash' | 'afterReboot' | 'afterStart' | 'afterStop'>;
  readonly running: Map<string, RunningRecord>;
  readonly exits: Pick<Exits, 'announce' | 'handleEnd'>;
  readonly spool: Pick<ExitSpool, 'discard'>;
  /** Also writes it to disk. */
  readonly remember: (state: RunningRecord) => void;
}

/** The caller holds the container's lock. */
export async function recoverRun(deps: RecoverDeps, name: string, book: RecoveryBook): Promise<void> {
  const { live, running, exits, spool, remember } = book;
  if (running.has(name)) return;
  const found = findRun(deps, name);
  if (found.kind === 'nothing') return;
  if (found.kind === 'ended') {
    running.set(name, found.state);
    await exits.handleEnd(found.state);
    return;
  }
  spool.discard(deps.paths.key(name));
  if (found.kind === 'starting') return completeStart(deps, found.state, book);
  const { state, rebooted } = found;
  // ext4 flushes a file that replaces another: skipping it saves seconds at a daemon's start with many containers.
  if (found.isRecorded) running.set(name, state);
  else remember(state);
  if (found.hasMonitor && rebooted) await awaitRunning(deps.paths, name, found.init);
  await live.afterCrash(state);
  if (rebooted) await live.afterReboot(running.get(name) ?? state);
  if (rebooted) exits.announce({ name, target: 'reboot' });
}

type RecoveryCase =
  | { readonly kind: 'nothing' }
  /** A daemon died while it started it; LXC may still be at work. */
  | { readonly kind: 'starting'; readonly state: RunningRecord }
  /** It ended unnoticed, and the end must still be handled. */
  | { readonly kind: 'ended'; readonly state: RunningRecord }
  | {
      readonly kind: 'running';
      readonly state: RunningRecord;
      readonly init: LiveProcess;
      readonly hasMonitor: boolean;
      readonly rebooted: boolean;
      /** Its record on disk is up to date. */
      readonly isRecorded: boolean;
    };

function findRun(deps: RecoverDeps, name: string): RecoveryCase {
  const { paths, tree, log } = deps;
  const saved = readRunningRecord(paths.stateFile(name));
  // A record of another boot means that the host went down; no client stopped this container.
  const before = saved?.bootId === readBootId() ? saved : undefined;
  if (before?.starting === true) return { kind: 'starting', state: before };
  const init = findInit(tree, paths.group(name));
  if (init === undefined) {
    if (before !== undefined) return { kind: 'ended', state: before };
    removeRunningRecord(paths.stateFile(name));
    removeGroup(tree, paths.group(name));
    unmountFiles(deps, name);
    unloadProfile(paths.apparmorName(name));
    return { kind: 'nothing' };
  }
  const monitor = findMonitor(init.pid);
  if (monitor === undefined) log.warn('container has lost its monitor', { container: name, pid: init.pid });
  const known = before ?? { ...unknown, name, bootId: readBootId() };
  const state = withProcesses(known, init, monitor);
  if (before === undefined) log.warn('nothing is known of how a container was started', { container: name });
  const rebooted = before !== undefined && before.initStartTime !== init.startTime;
  const isRecorded = before !== undefined && isDeepStrictEqual(before, state);
  return { kind: 'running', state, init, hasMonitor: monitor !== undefined, rebooted, isRecorded };
}

const unknown = { initPid: 0, initStartTime: 0, monitorPid: 0, monitorStartTime: 0, nics: {}, limits: {} };

const launchTimeoutMs = 60_000;
const pollMs = 5;

/** A daemon died while it started this container: completes the start, or undoes it. */
async function completeStart(deps: RecoverDeps, begun: RunningRecord, book: RecoveryBook): Promise<void> {
  const { log, paths, tree } = deps;
  const { name } = begun;
  try {
    const state = await awaitLaunch(deps, begun);
    if (state === undefined) throw new Error('its init did not come up');
    book.running.set(name, state);
    applyAfterStart(tree, paths.group(name), readLimits(state.limits, readHostFacts(tree), undefined));
    await book.live.afterStart(state);
    book.remember(started(state));
    log.info('completed a start that a crash had interrupted', { container: name });
  } catch (error) {
    log.warn('undid a start that a crash had interrupted', { container: name, reason: errorText(error) });
    book.running.delete(name);
    await endCutStart(deps, begun);
    await book.live.afterStop(begun);
  }
}

/** Waits until LXC has started the container or given up. Undefined: its init does not run. */
async function awaitLaunch(deps: RecoverDeps, state: RunningRecord): Promise<RunningRecord | undefined> {
  const { paths, tree } = deps;
  const deadline = performance.now() + launchTimeoutMs;
  for (;;) {
    const init = findInit(tree, paths.group(state.name));
    const monitor = init && findMonitor(init.pid);
    const launchers = findLaunchers(paths, state.name).filter((pid) => pid !== monitor?.pid);
    if (launchers.length === 0) {
      if (init === undefined || monitor === undefined) return undefined;
      await awaitRunning(paths, state.name, init);
      return isSameProcess(init.pid, init.startTime) ? withProcesses(state, init, monitor) : undefined;
    }
    if (performance.now() > deadline) {
      for (const pid of launchers) process.kill(pid, 'SIGKILL');
      return undefined;
    }
    await sleep(pollMs);
  }
}

/** Programs of LXC that are still starting this container. The monitor of a restored one keeps such a name. */
function findLaunchers(paths: LxcPaths, name: string): readonly number[] {
  const place = ` -P ${paths.lxcPath} -n ${paths.key(name)} `;
  return readdirSync('/proc')
    .filter((entry) => /^[0-9]+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      const line = readCommandLine(pid);
      const isLauncher = line.includes(place) && (/lxc-start/.test(line) || line.endsWith(' --restore'));
      return isLauncher && readProcess(pid)?.isZombie === false;
    });
}

async function endCutStart(deps: RecoverDeps, state: RunningRecord): Promise<void> {
  const { paths, tree, log } = deps;
  const group = paths.group(state.name);
  for (const pid of groupPids(tree, group)) killQuietly(pid);
  // A frozen process does not die.
  await setFrozen(tree, group, false, thawTimeoutMs).catch(() => {});
  await clearAfterFailedStart(tree, paths, state, log);
  unmountFiles(deps, state.name);
  unloadProfile(paths.apparmorName(state.name));
  removeRunningRecord(paths.stateFile(state.name));
}

const thawTimeoutMs = 10_000;

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone in between.
  }
}
