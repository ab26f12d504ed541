// Moves a stopped container into another pool or project of this server, under its name or another, as a saga.
import { randomUUID } from 'node:crypto';
import { errors, checkName } from '../../../api/errors.ts';
import { isWithoutSnapshots, type ContainerPost } from '../../../api/container/container.ts';
import { containerName } from '../../../api/names.ts';
import { containerUrl, plainName, projectOf, qualifiedName } from '../../../api/project/project-names.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Records } from '../../../records/records.ts';
import type { Caller } from '../../shared/caller.ts';
import { nicNetworks, withoutServerKeys } from '../../shared/expand.ts';
import type { ContainerDeps } from '../deps.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { checkDraft } from '../shared/draft.ts';
import { needProject } from '../../shared/project-scope.ts';
import { renameContainerSaga, type RenameParams } from './container-rename.ts';
import type { NetworkHosts } from '../../networks/network-hosts.ts';
import { refuseRunning } from '../remove/remove.ts';
import { snapshotsOf } from '../shared/snapshot-records.ts';
import { volumeOf, type ContainerLocation, type MoveParams, moveContainerSaga, moved } from './container-move.ts';

type MoveDeps = Pick<
  ContainerDeps,
  'records' | 'runtime' | 'pools' | 'operations' | 'sagas' | 'events' | 'locks' | 'view' | 'logsDir' | 'maas'
> & { readonly hosts: NetworkHosts };

/** POST {name, migration, pool, project}. All refusals come before the operation starts. Within its pool a container is only renamed, also
 *  into another project. */
export function moveContainer(deps: MoveDeps, caller: Caller, name: string, body: ContainerPost): Operation {
  const from: ContainerLocation = { name, pool: readyContainer(deps.records, name).document.pool };
  const to = targetOf(deps.records, from, body);
  const isRename = projectOf(to.name) === projectOf(from.name) && to.name !== from.name;
  if (to.pool === from.pool && isRename) return renameContainer(deps, caller, name, plainName(to.name));
  check(deps, from, to);
  return deps.operations.start({
    description: 'Moving container',
    resources: { containers: [containerUrl(name)] },
    mayCancel: true,
    run: (_handle, signal) =>
      deps.locks.runAll([...new Set([lockOf(from.name), lockOf(to.name)])], async () => {
        await deps.locks.unshared(lockOf(name));
        const now: ContainerLocation = { name, pool: readyContainer(deps.records, name).document.pool };
        check(deps, now, to);
        // It is there already, which the real system takes for a move, too.
        if (now.pool === to.pool && now.name === to.name) return;
        // Not a step: after a crash the volume found there is our own copy.
        await deps.pools.refuseVolume(to.pool, volumeOf(to));
        await moveNow(
          deps,
          caller,
          { from: now, to, snapshots: kept(deps.records, name, body), instanceId: randomUUID() },
          signal,
        );
      }),
  });
}

/** POST {name}: an existing target answers 409 before anything else (spec 7.3). `newName`: unqualified. */
export function renameContainer(deps: MoveDeps, caller: Caller, name: string, newName: string): Operation {
  const to = qualifiedName(projectOf(name), newName);
  readyContainer(deps.records, name);
  if (deps.records.isContainerName(to)) throw errors.exists('container', to);
  checkName('container', newName, containerName);
  refuseRunning(deps, name, 'renaming it');
  return deps.operations.start({
    description: 'Renaming container',
    resources: { containers: [containerUrl(name)] },
    run: (_handle, signal) =>
      deps.locks.runAll([lockOf(name), lockOf(to)], async () => {
        await deps.locks.unshared(lockOf(name));
        refuseRunning(deps, name, 'renaming it');
        const { pool } = readyContainer(deps.records, name).document;
        const params: RenameParams = { from: name, to, pool, instanceId: randomUUID() };
        await deps.sagas.run(renameContainerSaga(deps), params, { signal });
        await deps.hosts.refresh(nicNetworks(deps.view.expanded(readyContainer(deps.records, to)).devices));
        await deps.maas.followLater(to);
        deps.events.lifecycle('container-renamed', containerUrl(name), caller, { new_name: newName });
      }),
  });
}

async function moveNow(deps: MoveDeps, caller: Caller, params: MoveParams, signal: AbortSignal): Promise<void> {
  const { from, to } = params;
  // Without its snapshots it is copied, which leaves them behind.
  const isAll =
    snapshotsOf(deps.records, readyContainer(deps.records, from.name).document.uuid).length === params.snapshots.length;
  const { instanceId } = params;
  const named = instanceId === undefined ? {} : { instanceId };
  if (from.pool === to.pool && isAll)
    await deps.sagas.run(
      renameContainerSaga(deps),
      { from: from.name, to: to.name, pool: to.pool, ...named },
      { signal },
    );
  else await deps.sagas.run(moveContainerSaga(deps), params, { signal });
  if (from.name === to.name) {
    deps.events.lifecycle('container-updated', containerUrl(to.name), caller);
    return;
  }
  await deps.hosts.refresh(nicNetworks(deps.view.expanded(readyContainer(deps.records, to.name)).devices));
  await deps.maas.followLater(to.name);
  const context = {
    new_name: plainName(to.name),
    ...(projectOf(from.name) === projectOf(to.name) ? {} : { new_project: projectOf(to.name) }),
  };
  deps.events.lifecycle('container-renamed', containerUrl(from.name), caller, context);
}

const kept = (records: Records, name: string, body: ContainerPost): readonly string[] =>
  isWithoutSnapshots(body)
    ? []
    : snapshotsOf(records, readyContainer(records, name).document.uuid).map((snapshot) => snapshot.name);

/** Names in the body are unqualified. */
function targetOf(records: Records, from: ContainerLocation, body: ContainerPost): ContainerLocation {
  const project = needProject(records, body.project || projectOf(from.name));
  return { name: qualifiedName(project, body.name || plainName(from.name)), pool: body.pool || from.pool };
}

function check(deps: MoveDeps, from: ContainerLocation, to: ContainerLocation): void {
  if (to.name !== from.name) {
    if (deps.records.isContainerName(to.name)) throw errors.exists('container', to.name);
    checkName('container', plainName(to.name), containerName);
  }
  if (deps.records.pools.get(to.pool)?.document.lifecycle !== 'ready') throw errors.notFound('storage pool', to.pool);
  const isSameProject = projectOf(from.name) === projectOf(to.name);
  const where = isSameProject ? 'pool' : 'project';
  if (deps.runtime.probe(from.name).status !== 'stopped')
    throw errors.running(from.name, `moving it to another ${where}`);
  const wanted = moved(deps.records, from, to);
  checkDraft(deps, to.name, { ...wanted, config: withoutServerKeys(wanted.config) });
}
