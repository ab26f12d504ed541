// Moves a container of this member to another one: sends its files, and removes what is left here once the other has it.
import { type ContainerPost, isWithoutSnapshots } from '../../../api/container/container.ts';
import { AppError, errors, checkName } from '../../../api/errors.ts';
import { containerName } from '../../../api/names.ts';
import type { Operation } from '../../../api/operation.ts';
import { containerUrl, plainName, projectOf, qualifiedName } from '../../../api/project/project-names.ts';
import { statusCodes } from '../../../api/status.ts';
import type { Cluster } from '../../../membership/cluster.ts';
import type { Member } from '../../../membership/members.ts';
import { placeContainer } from '../../../membership/placement.ts';
import type { Records } from '../../../records/records.ts';
import { ChannelSet } from '../../../operations/channels.ts';
import type { OperationHandle } from '../../../operations/running-operation.ts';
import type { Caller } from '../../shared/caller.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { releaseLeases } from '../../containers/remove/remove.ts';
import { nicNetworks } from '../../shared/expand.ts';
import { sendFiles, type ContainerSourceDeps } from '../../transfer/migration/container-source.ts';
import { meetAnd } from '../../transfer/migration/operation.ts';
import { ownedBy } from '../../shared/owned-records.ts';
import { needProject } from '../../shared/project-scope.ts';
import { handOver, type MoveTo, refuseHandOver, staysInPool } from './hand-over.ts';
import { whilePresent } from './member-gone.ts';
import { leave } from './sagas/container-leave.ts';

export type MoveOutDeps = ContainerSourceDeps & { readonly cluster: Cluster };

/** POST {migration: true} with a target. All refusals come before the operation starts. */
export function moveOut(
  deps: MoveOutDeps,
  caller: Caller,
  name: string,
  target: string,
  body: ContainerPost,
): Operation {
  const to = destination(deps, name, target, body);
  refuse(deps, name, to);
  return startMove(deps, name, (running) => moveOutHeld(deps, caller, name, to, running));
}

/** The operation of a move: `work` holds the container's lock. */
export function startMove(
  { operations, locks }: Pick<MoveOutDeps, 'operations' | 'locks'>,
  name: string,
  work: (running: Running) => Promise<void>,
): Operation {
  const channels = new ChannelSet(['control', 'fs']);
  return operations.start({
    description: 'Moving container',
    resources: { containers: [containerUrl(name)] },
    mayCancel: true,
    channels,
    run: (handle, signal) => locks.run(lockOf(name), () => work({ handle, channels, signal })),
  });
}

export interface Running {
  readonly handle: OperationHandle;
  /** `control` and `fs`, channels of the handle's operation. */
  readonly channels: ChannelSet;
  readonly signal: AbortSignal;
}

/** The caller holds the container's lock. */
export async function moveOutHeld(
  deps: MoveOutDeps,
  caller: Caller,
  name: string,
  to: MoveTo,
  running: Running,
): Promise<void> {
  await deps.locks.unshared(lockOf(name));
  refuse(deps, name, to);
  const entry = readyContainer(deps.records, name);
  const { uuid, pool } = entry.document;
  const { devices } = deps.view.expanded(entry);
  if (staysInPool(deps.records, name, to)) await handOver(deps, name, to);
  else await sendAway(deps, name, to, { uuid, pool }, running);
  await releaseLeases(deps, entry, devices);
  await deps.hosts.refresh(nicNetworks(devices));
  emitMoved(deps, caller, name, to);
}

async function sendAway(
  deps: MoveOutDeps,
  name: string,
  to: MoveTo,
  { uuid, pool }: { readonly uuid: string; readonly pool: string },
  running: Running,
): Promise<void> {
  const watch = whilePresent(deps.cluster.members, to.member.number, running.signal);
  const doubt = `Whether the container ${plainName(name)} has moved to ${to.member.name}`;
  const leaving = leave(deps, { name, uuid, pool }, async () => {
    try {
      await send(deps, name, uuid, to, { ...running, signal: watch.signal });
    } catch (error) {
      // Only the records say whether it moved nevertheless.
      await deps.cluster.needCurrent(doubt);
      if (deps.records.containers.get(name)?.document.uuid === uuid) throw error;
    }
    await deps.cluster.needCurrent(doubt);
  });
  await leaving.finally(() => watch.end());
}

/** Resolves when the other member says that it has it. */
async function send(
  deps: MoveOutDeps,
  name: string,
  uuid: string,
  to: MoveTo,
  { handle, channels, signal }: Running,
): Promise<void> {
  const { cluster } = deps;
  const { control = '', fs = '' } = channels.secrets;
  const arrival = await cluster.ask<Operation>(to.member, 'POST', '/internal/cluster/arrivals', {
    name,
    uuid,
    to: to.name,
    pool: to.pool,
    container_only: to.withoutSnapshots,
    operation: handle.id,
    secrets: { control, fs },
  });
  const refused = new AbortController();
  const both = AbortSignal.any([signal, refused.signal]);
  const meeting = { how: 'wait', channels, names: ['control', 'fs'] } as const;
  const sent = meetAnd(deps, meeting, both, (peer) =>
    sendFiles(deps, peer, name, { withoutSnapshots: to.withoutSnapshots }, handle, peer.signal),
  );
  const arrived = successAt(cluster, to.member, arrival.id, signal).catch((error: unknown) => {
    refused.abort(error);
    throw error;
  });
  const [came, went] = await Promise.allSettled([arrived, sent]);
  if (came.status === 'fulfilled') return;
  throw went.status === 'rejected' && signal.aborted ? went.reason : came.reason;
}

/** Resolves when a member's operation has ended. */
export const endAt = (
  cluster: Pick<Cluster, 'ask'>,
  member: Member,
  id: string,
  signal?: AbortSignal,
): Promise<Operation> => cluster.ask<Operation>(member, 'GET', `/1.0/operations/${id}/wait`, undefined, signal);

/** Resolves when a member's operation has succeeded. */
export async function successAt(...[cluster, member, id, signal]: Parameters<typeof endAt>): Promise<void> {
  const ended = await endAt(cluster, member, id, signal);
  if (ended.status_code !== statusCodes.success)
    throw new AppError('internal', `The cluster member ${member.name}: ${ended.err}`);
}

/** Names in the body are unqualified. */
export function destination(deps: MoveOutDeps, name: string, target: string, body: ContainerPost): MoveTo {
  const { records, cluster } = deps;
  const { document } = readyContainer(records, name);
  const pool = body.pool || document.pool;
  const project = needProject(records, body.project || projectOf(name));
  const to = qualifiedName(project, body.name || plainName(name));
  checkName('container', plainName(to), containerName);
  const named = cluster.members.get(target);
  if (named?.isHere === true)
    throw errors.badRequest(`The container ${plainName(name)} is on the member ${target} already`);
  if (named?.isPresent === false)
    throw errors.badRequest(`The container ${plainName(name)} cannot move to ${target}: it is offline`);
  const candidates = cluster.members.list().filter((each) => !each.isHere);
  const member = placeContainer(candidates, {
    target,
    architecture: document.architecture,
    objection: (each) => (hasPool(records, each, pool) ? undefined : `has no storage pool ${pool}`),
    coming: () => 0,
  });
  return { member, name: to, pool, withoutSnapshots: isWithoutSnapshots(body) };
}

export const hasPool = (records: Pick<Records, 'others'>, { number }: Member, pool: string): boolean =>
  records.others
    .having('pools', pool)
    .some(({ member, document }) => member === number && document.lifecycle === 'ready');

export function refuse(deps: MoveOutDeps, name: string, to: MoveTo, mayRun = false): void {
  const { records, runtime } = deps;
  const { document } = readyContainer(records, name);
  const plain = plainName(name);
  if (to.name !== name && records.isContainerName(to.name)) throw errors.exists('container', plainName(to.name));
  if (!mayRun && runtime.probe(name).status !== 'stopped')
    throw errors.running(plain, `moving it to ${to.member.name}`);
  if (staysInPool(records, name, to)) refuseHandOver(deps, name, to);
  const backups = ownedBy(records, 'backups', document.uuid).map((backup) => backup.name);
  if (backups.length > 0)
    throw errors.badRequest(
      `The container ${plain} has backups, which are stored on this member (${backups.join(', ')}): export what you need, delete them, and move it then`,
    );
}

function emitMoved({ events }: MoveOutDeps, caller: Caller, name: string, to: MoveTo): void {
  const location = to.member.name;
  if (to.name === name) return events.lifecycle('container-updated', containerUrl(name), caller, { location });
  const project = projectOf(to.name);
  const context = {
    new_name: plainName(to.name),
    ...(project === projectOf(name) ? {} : { new_project: project }),
    location,
  };
  events.lifecycle('container-renamed', containerUrl(name), caller, context);
}
