// Moves a container away because its member is evacuated, or the other one is restored: stops it, moves it, and marks it to be started
// there.
import type { Operation } from '../../../api/operation.ts';
import { plainName, projectOf } from '../../../api/project/project-names.ts';
import type { Member } from '../../../membership/members.ts';
import type { Caller } from '../../shared/caller.ts';
import { stopToLeave } from '../../containers/power/host-shutdown.ts';
import { startNow } from '../../containers/power/start.ts';
import { stopStateful } from '../../containers/power/stop.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { logFailure } from '../../../lib/log.ts';
import { isToRun, leaving } from './evacuation-plan.ts';
import type { MoveTo } from './hand-over.ts';
import { moveOutHeld, startMove, successAt, type MoveOutDeps, type Running } from './move-out.ts';

export interface MoveAway {
  readonly to: Member;
  /** The member it comes from; absent: it returns there, and keeps running here if it cannot. */
  readonly origin?: string;
  readonly isForced: boolean;
  /** Its processes move with it, in a checkpoint. */
  readonly isLive: boolean;
}

/** When the operation succeeds, the other member has it, and starts it if it ran. */
export function moveAway(
  deps: MoveOutDeps,
  caller: Caller,
  name: string,
  { to: member, origin, isForced, isLive }: MoveAway,
): Operation {
  readyContainer(deps.records, name);
  const to = (): MoveTo => {
    const { pool } = readyContainer(deps.records, name).document;
    return { member, name, pool, withoutSnapshots: false };
  };
  return startMove(deps, name, async (running) => {
    if (isLive) {
      await deps.locks.unshared(lockOf(name));
      await markLeaving(deps, name, { origin, isLive });
      return moveStored(deps, caller, name, to(), running);
    }
    try {
      await stopForMove(deps, caller, name, { isForced, origin }, running.signal);
      // A container that is deleted by its stop is done.
      if (!deps.records.containers.has(name)) return;
      await moveOutHeld(deps, caller, name, to(), running);
    } catch (error) {
      if (origin === undefined) await runOn(deps, caller, name);
      throw error;
    }
  });
}

/** Stops it with a checkpoint and moves it; if it cannot move, it goes on here. The caller holds the container's lock. */
export async function moveStored(
  deps: MoveOutDeps,
  caller: Caller,
  name: string,
  to: MoveTo,
  running: Running,
): Promise<void> {
  const { uuid } = readyContainer(deps.records, name).document;
  await stopStateful(deps, caller, name, running.signal);
  try {
    await moveOutHeld(deps, caller, name, to, running);
  } catch (error) {
    if (deps.records.containers.get(name)?.document.uuid === uuid)
      await startNow(deps, caller, name, new AbortController().signal, true).catch(cannotStart(deps, name));
    throw error;
  }
}

/** The move failed: starts it here again. Failures are logged. */
async function runOn(deps: MoveOutDeps, caller: Caller, name: string): Promise<void> {
  const { records, runtime } = deps;
  const stays = records.containers.get(name)?.document;
  if (stays === undefined || !isToRun(stays.config, false) || runtime.probe(name).status !== 'stopped') return;
  await startNow(deps, caller, name, new AbortController().signal).catch(cannotStart(deps, name));
}

const cannotStart = ({ log }: Pick<MoveOutDeps, 'log'>, name: string) =>
  logFailure(log, `Starting ${name}, which could not move,`);

/** The caller holds the container's lock. Marks it before the stop: whoever finds it stopped knows that it should run. */
export async function stopForMove(
  deps: MoveOutDeps,
  caller: Caller,
  name: string,
  { isForced, origin }: { readonly isForced: boolean; readonly origin: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  if (await markLeaving(deps, name, { origin })) await stopToLeave(deps, caller, name, isForced, signal);
}

/** Returns whether it runs. */
async function markLeaving(
  { records, runtime }: MoveOutDeps,
  name: string,
  how: { readonly origin: string | undefined; readonly isLive?: boolean },
): Promise<boolean> {
  const isRunning = runtime.probe(name).status !== 'stopped';
  await records.retry((changes) => {
    const { document } = readyContainer(records, name);
    changes.put('containers', name, { ...document, config: leaving(document.config, isRunning, how) });
  });
  return isRunning;
}

/** Starts a container that another member has. */
export async function startThere(
  { cluster }: MoveOutDeps,
  member: Member,
  name: string,
  stateful = false,
): Promise<void> {
  const path = `/1.0/containers/${encodeURIComponent(plainName(name))}/state`;
  const project = `?project=${encodeURIComponent(projectOf(name))}`;
  const { id } = await cluster.ask<Operation>(member, 'PUT', `${path}${project}`, { action: 'start', stateful });
  await successAt(cluster, member, id);
}
