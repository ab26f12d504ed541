// The saga that renames a project with its contents, on the host and in the records.
import { errors, mustFind } from '../../../api/errors.ts';
import { plainName, projectOf, qualifiedName } from '../../../api/project/project-names.ts';
import type { Saga } from '../../../operations/saga.ts';
import type { Records } from '../../../records/records.ts';
import { volumeIdOf, volumeKey } from '../../../records/record-names.ts';
import type { ContainerDeps } from '../../containers/deps.ts';
import { moveLogs, moveLogsBack } from '../../containers/shared/move-logs.ts';
import { ofProject } from '../../shared/project-scope.ts';
import { moveGrants } from '../grants.ts';

export interface ProjectRename {
  readonly name: string;
  readonly to: string;
}

type Deps = Pick<ContainerDeps, 'records' | 'pools' | 'runtime' | 'logsDir'>;

/** Both projects exist until the last object has moved, and neither accepts requests. Profiles are in both while containers move.
 *  `check`: throws if the contents may not move; recovery does not begin one. */
export function renameProjectSaga(deps: Deps, check: () => void = () => {}): Saga<ProjectRename> {
  const { records } = deps;
  return {
    kind: 'project-rename',
    onRestart: 'finish',
    begin(changes, { name, to }) {
      const document = mustFind(records.projects.get(name)?.document, 'project', name);
      if (document.lifecycle !== 'ready') throw errors.unavailable(`The project ${name} is being renamed; try again`);
      if (records.projects.has(to)) throw errors.exists('project', to);
      check();
      // Nothing may be on its way into it.
      changes.claim('projects', name);
      changes.put('projects', name, { ...document, lifecycle: 'deleting' });
      changes.put('projects', to, { ...document, lifecycle: 'creating' });
    },
    steps: [
      {
        name: 'new profiles',
        execute: ({ name, to }) => copyProfiles(records, name, to),
        undo: ({ to }) => dropProfiles(records, to),
      },
      {
        name: 'volumes',
        execute: ({ name, to }) => moveVolumes(deps, name, to),
        undo: ({ name, to }) => moveVolumesBack(deps, name, to),
      },
      {
        name: 'containers',
        execute: ({ name, to }) => moveContainers(deps, name, to),
        undo: ({ name, to }) => moveContainersBack(deps, name, to),
      },
      {
        name: 'images',
        execute: ({ name, to }) => moveImages(records, name, to),
        undo: ({ name, to }) => moveImages(records, to, name),
      },
      {
        name: 'old profiles',
        execute: ({ name }) => dropProfiles(records, name),
        undo: ({ name, to }) => copyProfiles(records, to, name),
      },
    ],
    commit(changes, { name, to }) {
      const document = records.projects.get(to)?.document;
      if (document === undefined) return;
      if (records.projects.has(name)) changes.delete('projects', name);
      changes.put('projects', to, { ...document, lifecycle: 'ready' });
      moveGrants(records, changes, name, to);
    },
    rollBack(changes, { name, to }) {
      const document = records.projects.get(name)?.document;
      if (document !== undefined) changes.put('projects', name, { ...document, lifecycle: 'ready' });
      if (records.projects.has(to)) changes.delete('projects', to);
    },
  };
}

const inProject = (qualified: string, project: string): string => qualifiedName(project, plainName(qualified));

async function copyProfiles(records: Records, from: string, to: string): Promise<void> {
  for (const { name, document } of ofProject(records.profiles.list(), from))
    await records.retry((changes) => changes.put('profiles', inProject(name, to), document));
}

async function dropProfiles(records: Records, project: string): Promise<void> {
  for (const { name } of ofProject(records.profiles.list(), project))
    await records.retry((changes) => changes.delete('profiles', name));
}

/** Moves the files of each container first, then its record: a listed container still has to move. */
async function moveContainers({ records, pools, runtime, logsDir }: Deps, from: string, to: string): Promise<void> {
  for (const { name, document } of ofProject(records.containers.list(), from)) {
    const moved = inProject(name, to);
    await pools.renameVolume(document.pool, { type: 'container', name }, moved);
    await runtime.forget(name);
    await moveLogs(logsDir, name, moved);
    await moveRecord(records, 'containers', name, moved);
  }
}

/** Takes back `moveContainers` with the same arguments. The last one may have moved without its record, or its record without it. */
async function moveContainersBack({ records, pools, logsDir }: Deps, from: string, to: string): Promise<void> {
  for (const { name } of ofProject(records.containers.list(), to))
    await moveRecord(records, 'containers', name, inProject(name, from));
  for (const { name, document } of ofProject(records.containers.list(), from)) {
    const moved = inProject(name, to);
    await pools.renameVolumeBack(document.pool, { type: 'container', name }, moved);
    await moveLogsBack(logsDir, name, moved);
  }
}

const volumesOf = (records: Records, project: string) =>
  records.volumes
    .list()
    .map((entry) => ({ key: entry.name, ...volumeIdOf(entry.name) }))
    .filter(({ name }) => projectOf(name) === project);

async function moveVolumes({ records, pools }: Deps, from: string, to: string): Promise<void> {
  for (const { key, pool, name } of volumesOf(records, from)) {
    const moved = inProject(name, to);
    await pools.renameVolume(pool, { type: 'custom', name }, moved);
    await moveRecord(records, 'volumes', key, volumeKey({ pool, name: moved }));
  }
}

async function moveVolumesBack({ records, pools }: Deps, from: string, to: string): Promise<void> {
  for (const { key, pool, name } of volumesOf(records, to))
    await moveRecord(records, 'volumes', key, volumeKey({ pool, name: inProject(name, from) }));
  for (const { pool, name } of volumesOf(records, from))
    await pools.renameVolumeBack(pool, { type: 'custom', name }, inProject(name, to));
}

/** Their files are shared by all projects that have them. */
async function moveImages(records: Records, from: string, to: string): Promise<void> {
  for (const { name } of ofProject(records.images.list(), from))
    await moveRecord(records, 'images', name, inProject(name, to));
  for (const { name } of ofProject(records.aliases.list(), from))
    await moveRecord(records, 'aliases', name, inProject(name, to));
}

async function moveRecord(
  records: Records,
  kind: 'containers' | 'volumes' | 'images' | 'aliases',
  from: string,
  to: string,
): Promise<void> {
  await records.retry((changes) => {
    const entry = records[kind].get(from);
    if (entry === undefined) return;
    changes.delete(kind, from);
    changes.put(kind, to, entry.document);
  });
}
