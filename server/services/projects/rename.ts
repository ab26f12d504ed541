// Renames a project with its contents: the refusals, and the locks under which its objects move.
import { volumeIdOf } from '../../records/record-names.ts';
import { AppError, errors, checkName } from '../../api/errors.ts';
import { projectName } from '../../api/names.ts';
import { defaultProject, plainName, projectOf, projectUrl } from '../../api/project/project-names.ts';
import type { Operation } from '../../api/operation.ts';
import type { Caller } from '../shared/caller.ts';
import type { ContainerDeps } from '../containers/deps.ts';
import { lockOf } from '../shared/find-container.ts';
import { nicNetworks } from '../shared/expand.ts';
import { imageLock } from '../images/image-deps.ts';
import type { NetworkHosts } from '../networks/network-hosts.ts';
import { needProject, ofProject } from '../shared/project-scope.ts';
import { renameProjectSaga } from './sagas/project-rename.ts';
import { namesText } from '../../api/text/names-text.ts';

export type RenameProjectDeps = Pick<
  ContainerDeps,
  'records' | 'pools' | 'runtime' | 'view' | 'operations' | 'sagas' | 'events' | 'locks' | 'logsDir'
> & { readonly hosts: NetworkHosts };

/** POST {name}. An existing target answers 409 before anything else. */
export function renameProject(deps: RenameProjectDeps, caller: Caller, name: string, to: string): Operation {
  if (name === defaultProject) throw errors.protectedObject('The project default cannot be renamed');
  if (!deps.records.projects.has(name)) throw errors.notFound('project', name);
  needProject(deps.records, name);
  if (deps.records.projects.has(to)) throw errors.exists('project', to);
  checkName('project', to, projectName);
  check(deps, name);
  return deps.operations.start({
    description: 'Renaming project',
    resources: { projects: [projectUrl(name)] },
    run: async (_handle, signal) => {
      const locks = locksOf(deps, name);
      await deps.locks.runAll(locks, async () => {
        for (const lock of locks) await deps.locks.unshared(lock);
        const checkAll = (): void => {
          check(deps, name);
          // Objects created during the wait are not locked: the project would move while they are in creation.
          if (locksOf(deps, name).some((lock) => !locks.includes(lock))) throw errors.conflict('project', name);
        };
        await deps.sagas.run(renameProjectSaga(deps, checkAll), { name, to }, { signal });
      });
      const containers = ofProject(deps.records.containers.list(), to);
      await deps.hosts.refresh(containers.flatMap((entry) => nicNetworks(deps.view.expanded(entry).devices)));
      deps.events.lifecycle('project-renamed', projectUrl(name), caller, { new_name: to });
    },
  });
}

/** LXC names, cgroups and mounts contain the project, and cannot change while in use. */
function check({ records, runtime, sagas }: RenameProjectDeps, project: string): void {
  const containers = ofProject(records.containers.list(), project).map(({ name }) => name);
  const running = containers.filter((name) => runtime.probe(name).status !== 'stopped').map(plainName);
  if (running.length > 0) {
    const named = namesText(running);
    throw new AppError('running', `The project ${project} has running containers: stop ${named} before renaming it`);
  }
  const undone = containers.find((name) => sagas.isUndoing('containers', name));
  const { others } = records;
  const elsewhere = [
    ...[...others.list('containers'), ...others.list('images')].map(({ name }) => name),
    ...[...others.list('volumes')].map(({ name }) => volumeIdOf(name).name),
  ].find((name) => projectOf(name) === project);
  if (elsewhere !== undefined)
    throw errors.badRequest(
      `The project ${project} has ${plainName(elsewhere)} on another member of the cluster: empty it before renaming it`,
    );
  if (undone !== undefined)
    throw errors.unavailable(`A change of the container ${plainName(undone)} is still being undone; try again`);
}

function locksOf({ records }: RenameProjectDeps, project: string): readonly string[] {
  const volumes = records.volumes
    .list()
    .map(({ name }) => name)
    .filter((key) => projectOf(volumeIdOf(key).name) === project);
  return [
    ...ofProject(records.containers.list(), project).map(({ name }) => lockOf(name)),
    ...ofProject(records.images.list(), project).map(({ name }) => imageLock(name)),
    ...volumes.map((key) => `volume/${key}`),
  ];
}
