// Moves a running container to another member: stops it with a checkpoint, sends its files, and starts it there from the checkpoint.
import type { ContainerPost } from '../../../api/container/container.ts';
import { AppError } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import { plainName } from '../../../api/project/project-names.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import type { Caller } from '../../shared/caller.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { isLive } from '../../transfer/migration/live.ts';
import { moveStored, startThere } from './move-away.ts';
import type { MoveTo } from './hand-over.ts';
import { destination, moveOut, refuse, startMove, type MoveOutDeps, type Running } from './move-out.ts';

/** POST {migration: true} with a target. Only `live: true` moves a running container; all refusals come at once. */
export async function moveToMember(
  deps: MoveOutDeps,
  caller: Caller,
  name: string,
  target: string,
  body: ContainerPost,
): Promise<Operation> {
  const { ephemeral } = readyContainer(deps.records, name).document;
  if (body.live !== true || !(await isLive(deps, name, true, ephemeral)))
    return moveOut(deps, caller, name, target, body);
  const to = destination(deps, name, target, body);
  refuse(deps, name, to, true);
  return startMove(deps, name, (running) => moveLive(deps, caller, name, to, running));
}

async function moveLive(deps: MoveOutDeps, caller: Caller, name: string, to: MoveTo, running: Running): Promise<void> {
  await deps.locks.unshared(lockOf(name));
  await moveStored(deps, caller, name, to, running);
  const { member } = to;
  await startThere(deps, member, to.name, true).catch((error: unknown) => {
    throw new AppError(
      'internal',
      `The container ${plainName(to.name)} is on ${member.name} now, stopped with its checkpoint: start it with stateful: true, or without. It could not resume because ${errorText(error)}`,
    );
  });
}
