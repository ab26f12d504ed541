// Moving a stopped container into another pool of this server, under its name or another, as a saga.
import { errors } from '../../../api/errors.ts';
import { isWithoutSnapshots, type ContainerPost } from '../../../api/container/container.ts';
import { containerName, containerUrl } from '../../../api/names.ts';
import type { Operation } from '../../../api/operation.ts';
import type { VolumeRef } from '../../../drivers/storage/driver.ts';
import type { Saga } from '../../../operations/saga.ts';
import type { Changes, Records } from '../../../records/records.ts';
import type { Caller } from '../../caller.ts';
import { expand, nicNetworks, withoutServerKeys } from '../../expand.ts';
import { copySnapshotFiles, copyVolumeSource } from './copy.ts';
import type { ContainerDeps } from '../deps.ts';
import { lockOf, readyContainer } from '../find.ts';
import { checkDraft, withRootIn } from './draft.ts';
import type { NetworkHosts } from '../../networks/network-hosts.ts';
import { moveLogs, renameContainer, type RemoveDeps } from './remove.ts';
import { limitNewRoot } from '../devices/root-size.ts';
import { snapshotKey, snapshotsOf } from '../snapshots/records.ts';

type MoveDeps = Pick<
  ContainerDeps,
  'records' | 'runtime' | 'pools' | 'operations' | 'sagas' | 'events' | 'locks' | 'view' | 'logsDir'
> & { readonly hosts: NetworkHosts };

interface ContainerLocation {
  readonly name: string;
  readonly pool: string;
}

interface MoveParams {
  readonly from: ContainerLocation;
  readonly to: ContainerLocation;
  /** Those that come along; others end with the original. */
  readonly snapshots: readonly string[];
}

const volumeOf = ({ name }: ContainerLocation): VolumeRef => ({ type: 'container', name });
const nothing = (): Promise<void> => Promise.resolve();

/** The copy is whole before the original goes, and once it has gone only forwards is possible. */
export function moveContainerSaga(
  deps: Pick<ContainerDeps, 'records' | 'pools' | 'runtime' | 'logsDir'>,
): Saga<MoveParams> {
  const { records, pools } = deps;
  const has = (location: ContainerLocation): Promise<boolean> => {
    const { driver, pool } = pools.use(location.pool);
    return driver.hasVolume(pool, volumeOf(location));
  };
  return {
    kind: 'container-move',
    onRestart: 'finish',
    begin(changes, { from, to }) {
      if (to.name !== from.name && records.containers.has(to.name)) throw errors.exists('container', to.name);
      if (records.pools.get(to.pool)?.document.lifecycle !== 'ready') throw errors.notFound('storage pool', to.pool);
      for (const pool of [from.pool, to.pool]) changes.require('pools', pool);
      for (const name of new Set([from.name, to.name])) changes.require('containers', name);
    },
    steps: [
      {
        name: 'copy',
        async execute({ from, to, snapshots }, { signal }) {
          if (!(await has(from))) return;
          const source = { container: from.name, pool: from.pool };
          const files = copyVolumeSource(pools, source, to.pool);
          await pools.createVolume(to.pool, volumeOf(to), files, () => {}, signal);
          const { devices } = expand(moved(records, from, to.pool), (name) => records.profiles.get(name)?.document);
          await limitNewRoot(pools, to.pool, to.name, devices);
          await copySnapshotFiles(pools, source, to, snapshots, signal);
        },
        async undo({ from, to }) {
          if (!(await has(from)))
            throw new Error(`The container ${from.name} has moved to the pool ${to.pool} already`);
          await pools.deleteVolume(to.pool, volumeOf(to));
        },
      },
      { name: 'runtime', execute: ({ from }) => deps.runtime.forget(from.name), undo: nothing },
      {
        name: 'logs',
        execute: ({ from, to }) => moveLogs(deps.logsDir, from.name, to.name),
        undo: ({ from, to }) => moveLogs(deps.logsDir, to.name, from.name),
      },
      { name: 'original', execute: ({ from }) => pools.deleteVolume(from.pool, volumeOf(from)), undo: nothing },
    ],
    commit(changes, params) {
      if (records.containers.has(params.from.name)) commitMove(records, changes, params);
    },
    rollBack: () => {},
  };
}

/** What the container is once it is there. */
function moved(records: Records, from: ContainerLocation, pool: string) {
  const { document } = readyContainer(records, from.name);
  return { ...document, pool, devices: withRootIn(records, document, pool) };
}

function commitMove(records: Records, changes: Changes, { from, to, snapshots }: MoveParams): void {
  const document = moved(records, from, to.pool);
  if (to.name !== from.name) changes.delete('containers', from.name);
  changes.put('containers', to.name, document);
  for (const one of snapshotsOf(records, document.uuid)) {
    const key = snapshotKey(document.uuid, one.name);
    if (!snapshots.includes(one.name)) changes.delete('snapshots', key);
    else changes.put('snapshots', key, { ...one.document, devices: withRootIn(records, one.document, to.pool) });
  }
}

/** POST {name, migration, pool}. Everything that can be refused is refused before the operation starts. Within its pool a container
 *  only gets another name. */
export function moveContainer(
  deps: MoveDeps & RemoveDeps,
  caller: Caller,
  name: string,
  body: ContainerPost,
): Operation {
  const from: ContainerLocation = { name, pool: readyContainer(deps.records, name).document.pool };
  const to: ContainerLocation = { name: body.name || name, pool: body.pool || from.pool };
  refuseProject(from, body);
  if (to.pool === from.pool && to.name !== from.name) return renameContainer(deps, caller, name, to.name);
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
        // Not a step: after a crash what is there is our own copy.
        await deps.pools.refuseVolume(to.pool, volumeOf(to));
        await moveNow(deps, caller, { from: now, to, snapshots: kept(deps.records, name, body) }, signal);
      }),
  });
}

async function moveNow(deps: MoveDeps, caller: Caller, params: MoveParams, signal: AbortSignal): Promise<void> {
  const { from, to } = params;
  await deps.sagas.run(moveContainerSaga(deps), params, { signal, progress: () => {} });
  const { requestor } = caller;
  if (from.name === to.name) {
    deps.events.lifecycle('container-updated', containerUrl(to.name), undefined, requestor);
    return;
  }
  await deps.hosts.settle(nicNetworks(deps.view.expanded(readyContainer(deps.records, to.name)).devices));
  deps.events.lifecycle('container-renamed', containerUrl(from.name), { new_name: to.name }, requestor);
}

const kept = (records: Records, name: string, body: ContainerPost): readonly string[] =>
  isWithoutSnapshots(body)
    ? []
    : snapshotsOf(records, readyContainer(records, name).document.uuid).map((snapshot) => snapshot.name);

function refuseProject(from: ContainerLocation, { project = '' }: ContainerPost): void {
  if (project !== '' && project !== 'default')
    throw errors.badRequest(
      `The container ${from.name} cannot move to the project ${project}: there are no projects here`,
    );
}

function check(deps: MoveDeps, from: ContainerLocation, to: ContainerLocation): void {
  if (to.name !== from.name) {
    if (deps.records.containers.has(to.name)) throw errors.exists('container', to.name);
    const rule = containerName(to.name);
    if (rule !== undefined) throw errors.invalidName('container', to.name, rule);
  }
  if (deps.records.pools.get(to.pool)?.document.lifecycle !== 'ready') throw errors.notFound('storage pool', to.pool);
  if (from.pool === to.pool)
    throw errors.badRequest(`The container ${from.name} is in the pool ${to.pool} already: name another one`);
  if (deps.runtime.probe(from.name).status !== 'stopped') throw errors.running(from.name, 'moving it to another pool');
  const wanted = moved(deps.records, from, to.pool);
  checkDraft(deps.records, to.name, { ...wanted, config: withoutServerKeys(wanted.config) });
}
