// Restores this member after an evacuation: it takes containers again, those that moved away return, and those that ran run again.
import type { ClusterMemberStatePost, ClusterReturn } from '../../../api/cluster/cluster.ts';
import { AppError, errors, mustFind } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Caller } from '../../shared/caller.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { startNow } from '../../containers/power/start.ts';
import { evacuateKeys } from '../../containers/shared/evacuate-keys.ts';
import { liveProblem } from '../../transfer/migration/live.ts';
import { inTurn } from './evacuate.ts';
import { isToRun, returned } from './evacuation-plan.ts';
import { moveAway } from './move-away.ts';
import { successAt, type MoveOutDeps } from './move-out.ts';
import { setEvacuated } from './own-member.ts';

export function restore(
  deps: MoveOutDeps,
  caller: Caller,
  { mode = '', force = false }: ClusterMemberStatePost,
): Operation {
  if (mode !== '') throw errors.invalid('restoring', [{ path: 'mode', message: 'is for evacuate: leave it out' }]);
  const { records, cluster, operations, events } = deps;
  return operations.start({
    description: 'Restoring cluster member',
    resources: { cluster: [] },
    mayCancel: true,
    run: async (handle, signal) => {
      const name = cluster.ownName;
      await setEvacuated(records, false);
      events.lifecycle('cluster-member-restored', `/1.0/cluster/members/${name}`, caller);
      const isOfHere = (config: Readonly<Record<string, string>>): boolean => config[evacuateKeys.origin] === name;
      const own = records.containers.list().filter(({ document }) => isOfHere(document.config));
      const away = [...records.others.list('containers')].filter(({ document }) => isOfHere(document.config));
      const failures = [
        ...(await inTurn(own, handle, 'Restoring', signal, (entry) => finishReturn(deps, caller, entry.name, signal))),
        ...(await inTurn(away, handle, 'Restoring', signal, async (entry) => {
          await fetch(deps, entry.name, entry.member, force, signal);
          await finishReturn(deps, caller, entry.name, signal);
        })),
      ];
      if (failures.length > 0)
        throw new AppError(
          'internal',
          `${name} takes containers again, but ${failures.join('; ')}. Restore it again when the cause is gone`,
        );
    },
  });
}

/** The container is back: starts it if it ran, and removes the marks of the evacuation. */
async function finishReturn(deps: MoveOutDeps, caller: Caller, name: string, signal: AbortSignal): Promise<void> {
  const { records, runtime, cluster } = deps;
  await deps.locks.run(lockOf(name), async () => {
    const found = records.containers.get(name)?.document;
    if (found?.lifecycle !== 'ready') return;
    if (isToRun(found.config, false) && runtime.probe(name).status === 'stopped')
      await startNow(deps, caller, name, signal, found.stateful);
    // A resumed container emits no event that would show the other members its status.
    cluster.touch(name);
    await records.retry((changes) => {
      const { document } = readyContainer(records, name);
      changes.put('containers', name, { ...document, config: returned(document.config) });
    });
  });
}

async function fetch(
  { records, cluster }: MoveOutDeps,
  name: string,
  number: number,
  force: boolean,
  signal: AbortSignal,
): Promise<void> {
  const member = mustFind(cluster.members.byNumber(number), 'container', name);
  const { id } = await cluster.ask<Operation>(member, 'POST', '/internal/cluster/returns', { name, force }, signal);
  await successAt(cluster, member, id, signal);
  await cluster.needCurrent(`Whether the container ${name} is back`);
  if (records.others.get('containers', name) !== undefined) throw errors.conflict('container', name);
}

/** Another member is restored, and requests a container that came from there. One that came with its processes goes with them. */
export async function giveBack(
  deps: MoveOutDeps,
  caller: Caller,
  { name, force: isForced }: ClusterReturn,
): Promise<Operation> {
  const { config, ephemeral } = readyContainer(deps.records, name).document;
  const origin = config[evacuateKeys.origin] ?? '';
  const to = deps.cluster.members.get(origin);
  if (to === undefined || to.isHere) throw errors.badRequest(`The container ${name} came from no other member`);
  const isLive = config[evacuateKeys.live] === 'true' && deps.runtime.probe(name).status !== 'stopped';
  const problem = isLive ? await liveProblem(deps, name, ephemeral) : undefined;
  if (problem !== undefined) throw errors.badRequest(`${problem}. Stop it first`);
  return moveAway(deps, caller, name, { to, isForced, isLive });
}
