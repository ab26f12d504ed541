// Evacuates this member: it takes no more containers, and its own move to other members or stop. Running it again completes what failed or
// was interrupted.
import type { ClusterMemberStatePost } from '../../../api/cluster/cluster.ts';
import { AppError, errors } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import { plainName } from '../../../api/project/project-names.ts';
import { statusCodes } from '../../../api/status.ts';
import type { Member } from '../../../membership/members.ts';
import { placeContainer } from '../../../membership/placement.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import type { OperationHandle } from '../../../operations/running-operation.ts';
import type { Caller } from '../../shared/caller.ts';
import { evacuateKeys, groupOf } from '../../containers/shared/evacuate-keys.ts';
import { lockOf } from '../../shared/find-container.ts';
import type { ContainerEntry } from '../../shared/container-view.ts';
import { liveProblem } from '../../transfer/migration/live.ts';
import { evacuationModes, isEvacuationMode, isToRun, wayOut } from './evacuation-plan.ts';
import { moveAway, startThere, stopForMove } from './move-away.ts';
import { type MoveOutDeps, hasPool } from './move-out.ts';
import { setEvacuated } from './own-member.ts';

export function evacuate(
  deps: MoveOutDeps,
  caller: Caller,
  { mode = '', force: isForced = false }: ClusterMemberStatePost,
): Operation {
  if (mode !== '' && !isEvacuationMode(mode))
    throw errors.invalid('evacuation', [{ path: 'mode', message: `must be one of ${evacuationModes.join(', ')}` }]);
  const { records, cluster, operations, events } = deps;
  return operations.start({
    description: 'Evacuating cluster member',
    resources: { cluster: [] },
    mayCancel: true,
    run: async (handle, signal) => {
      const name = cluster.ownName;
      await setEvacuated(records, true);
      events.lifecycle('cluster-member-evacuated', `/1.0/cluster/members/${name}`, caller);
      const own = records.containers.list();
      const failures = await inTurn(own, handle, 'Evacuating', signal, (entry) =>
        leave(deps, caller, entry, { mode, isForced }, signal),
      );
      const left = stoppedOnOthers(deps).filter(({ name: each }) => !own.some((entry) => entry.name === each));
      failures.push(...(await inTurn(left, handle, 'Starting', signal, startAgain(deps))));
      if (failures.length > 0) throw new AppError('internal', unfinished(name, failures));
    },
  });
}

const unfinished = (name: string, failures: readonly string[]): string =>
  `${name} takes no new containers, but ${failures.join('; ')}. Evacuate it again when the cause is gone`;

/** Collects failures by object; the remaining ones still run. */
export async function inTurn<T extends { readonly name: string }>(
  entries: readonly T[],
  handle: OperationHandle,
  doing: string,
  signal: AbortSignal,
  work: (entry: T) => Promise<void>,
): Promise<string[]> {
  const failures: string[] = [];
  for (const entry of entries) {
    signal.throwIfAborted();
    handle.update({ evacuation_progress: `${doing} ${plainName(entry.name)}` });
    await work(entry).catch((error: unknown) => failures.push(`${plainName(entry.name)}: ${errorText(error)}`));
  }
  signal.throwIfAborted();
  return failures;
}

async function leave(
  deps: MoveOutDeps,
  caller: Caller,
  { name }: ContainerEntry,
  { mode, isForced }: { readonly mode: string; readonly isForced: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { records, runtime, locks, cluster, operations, view } = deps;
  const entry = records.containers.get(name);
  if (entry?.document.lifecycle !== 'ready') return;
  const origin = cluster.ownName;
  const way = wayOut(view.expanded(entry), mode);
  if (way === 'stop') {
    await locks.run(lockOf(name), async () => {
      if (!records.containers.has(name) || runtime.probe(name).status === 'stopped') return;
      await stopForMove(deps, caller, name, { isForced, origin }, signal);
    });
    return;
  }
  const isRunning = runtime.probe(name).status !== 'stopped';
  const isLive = way === 'live' && isRunning;
  const problem = isLive ? await liveProblem(deps, name, entry.document.ephemeral) : undefined;
  if (problem !== undefined) throw errors.badRequest(`${problem}. Stop it first, or evacuate with the mode migrate`);
  const to = destination(deps, entry);
  const { id } = moveAway(deps, caller, name, { to, origin, isForced, isLive });
  const stop = (): void => operations.cancel(id);
  signal.addEventListener('abort', stop, { once: true });
  const ended = await operations.wait(id, undefined).finally(() => signal.removeEventListener('abort', stop));
  if (ended.status_code !== statusCodes.success) throw new Error(ended.err);
  const there = records.others.get('containers', name);
  if (there?.member === to.number && isToRun(entry.document.config, isRunning))
    await startThere(deps, to, name, there.document.stateful);
}

/** The other eligible member with the fewest containers. */
function destination({ records, cluster }: MoveOutDeps, { document }: ContainerEntry): Member {
  const others = cluster.members.list().filter(({ isHere }) => !isHere);
  if (others.length === 0) throw errors.badRequest('there is no other member in the cluster');
  return placeContainer(others, {
    target: groupOf(document.config),
    architecture: document.architecture,
    objection: (member) =>
      hasPool(records, member, document.pool) ? undefined : `has no storage pool ${document.pool}`,
    coming: () => 0,
  });
}

/** Containers that were moved from here while running, and not started since: an evacuation was interrupted. */
function stoppedOnOthers({ records, cluster }: MoveOutDeps) {
  return [...records.others.list('containers')].filter(
    ({ name, member, document: { config, lifecycle } }) =>
      lifecycle === 'ready' &&
      config[evacuateKeys.origin] === cluster.ownName &&
      isToRun(config, false) &&
      cluster.members.statusOf(member, name) === statusCodes.stopped,
  );
}

const startAgain =
  (deps: MoveOutDeps) =>
  async ({ name, member: number, document }: ReturnType<typeof stoppedOnOthers>[number]): Promise<void> => {
    const member = deps.cluster.members.byNumber(number);
    if (member !== undefined) await startThere(deps, member, name, document.stateful);
  };
