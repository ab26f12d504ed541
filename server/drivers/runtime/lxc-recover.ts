// Finds out what became of one container while no driver looked: gone, ended, running, or rebooted. Changes no container.
import type { CgroupTree } from './cgroup.ts';
import { removeGroup } from './cgroup.ts';
import { findInit, findMonitor, type LiveProcess } from './lxc-life.ts';
import { type FileDeps, unmountFiles } from './lxc-files.ts';
import { readBootId } from './proc.ts';
import { readRunState, removeRunState, type RunState } from './run-state.ts';

export type Found =
  | { readonly kind: 'nothing' }
  /** It ended unseen, and the end is still to be dealt with. */
  | { readonly kind: 'ended'; readonly state: RunState }
  | {
      readonly kind: 'running';
      readonly state: RunState;
      readonly init: LiveProcess;
      readonly hasMonitor: boolean;
      readonly rebooted: boolean;
    };

export function findRun(deps: FileDeps & { readonly tree: CgroupTree }, name: string): Found {
  const { places, tree, log } = deps;
  const saved = readRunState(places.stateFile(name));
  // Of another boot: the host went down, nobody stopped this container.
  const before = saved?.bootId === readBootId() ? saved : undefined;
  const init = findInit(tree, places.group(name));
  if (init === undefined) {
    if (before !== undefined) return { kind: 'ended', state: before };
    removeRunState(places.stateFile(name));
    removeGroup(tree, places.group(name));
    unmountFiles(deps, name);
    return { kind: 'nothing' };
  }
  const monitor = findMonitor(init.pid);
  if (monitor === undefined) log.warn('container has lost its monitor', { container: name, pid: init.pid });
  const state: RunState = {
    nics: {},
    limits: {},
    ...before,
    name,
    bootId: readBootId(),
    initPid: init.pid,
    initStartTime: init.startTime,
    monitorPid: monitor?.pid ?? 0,
    monitorStartTime: monitor?.startTime ?? 0,
  };
  const rebooted = before !== undefined && before.initStartTime !== init.startTime;
  return { kind: 'running', state, init, hasMonitor: monitor !== undefined, rebooted };
}
