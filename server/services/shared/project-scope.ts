// The objects that a project uses: its own, or those of the project default (`features.*`). Reads records only.
import { errors, mustFind } from '../../api/errors.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import { defaultProject, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import type { ProfileDocument } from '../../records/documents.ts';
import type { Changes, Records } from '../../records/records.ts';
import { firstFrom } from '../../records/sorted-names.ts';

export type ProjectFeature = 'features.images' | 'features.profiles' | 'features.storage.volumes';

/** The project whose objects of that kind this one uses: itself or `default`. */
export function projectWith(records: Pick<Records, 'projects'>, project: string, feature: ProjectFeature): string {
  if (project === defaultProject) return defaultProject;
  const config = records.projects.get(project)?.document.config;
  return config !== undefined && !isTrue(config[feature]) ? defaultProject : project;
}

export const profileIn = (records: Records, project: string, name: string): string =>
  qualifiedName(projectWith(records, project, 'features.profiles'), name);

/** Finds the profiles that a container names, by its qualified name. */
export const profilesOf =
  (records: Records, container: string) =>
  (name: string): ProfileDocument | undefined =>
    records.profiles.get(profileIn(records, projectOf(container), name))?.document;

/** The image of that fingerprint for objects of the project, and the alias of that name. */
export const imageIn = (records: Records, project: string, fingerprint: string): string =>
  qualifiedName(projectWith(records, project, 'features.images'), fingerprint);
export const aliasIn = imageIn;

export const volumeIn = (records: Records, project: string, name: string): string =>
  qualifiedName(projectWith(records, project, 'features.storage.volumes'), name);

/** The custom volume `POOL/NAME` of that name for objects of the project, as its record is named. */
export const volumeKeyIn = (records: Records, project: string, pool: string, name: string): string =>
  `${pool}/${volumeIn(records, project, name)}`;

/** The objects of one project, in order of name, from a list in order of qualified name. Its cost grows with the project, not with the
 *  list. */
export function ofProject<T extends { readonly name: string }>(list: readonly T[], project: string): readonly T[] {
  // The names of a project are adjacent: they begin with `PROJECT%`, and & is the character after %.
  const end = (name: string): number => firstFrom(list, `${name}&`);
  if (project !== defaultProject) return list.slice(firstFrom(list, `${project}%`), end(project));
  const found: T[] = [];
  for (let at = 0; at < list.length;) {
    const object = list[at];
    if (object === undefined) break;
    const owner = projectOf(object.name);
    if (owner === defaultProject) found.push(object);
    at = owner === defaultProject ? at + 1 : end(owner);
  }
  return found;
}

/** Qualifies the names that a request in one project uses. */
export interface ProjectNames {
  readonly project: string;
  readonly container: (name: string) => string;
  readonly profile: (name: string) => string;
  /** A fingerprint, or a prefix of one. */
  readonly image: (fingerprint: string) => string;
  readonly alias: (name: string) => string;
  readonly volume: (name: string) => string;
}

/** The project itself. Throws AppError notFound if there is none. */
export function needProject(records: Pick<Records, 'projects'>, project: string): string {
  if (project === defaultProject) return project;
  const entry = mustFind(records.projects.get(project), 'project', project);
  if (entry.document.lifecycle !== 'ready')
    throw errors.unavailable(`The project ${project} is being renamed; try again`);
  return project;
}

/** The project of a new object must exist and stay. `feature`: it must still have its own objects of that kind. */
export function requireProject(records: Records, changes: Changes, qualified: string, feature?: ProjectFeature): void {
  const project = needProject(records, projectOf(qualified));
  if (project === defaultProject) return;
  if (feature !== undefined && projectWith(records, project, feature) !== project)
    throw errors.badRequest(`${feature} of the project ${project} was switched off in the meantime; try again`);
  changes.require('projects', project);
}

/** For callers without trust: every project seems to exist with its own objects, so that existing ones are not revealed. */
export function namesForStrangers(project: string): ProjectNames {
  const own = (name: string): string => qualifiedName(project, name);
  return { project, container: own, profile: own, image: own, alias: own, volume: own };
}

/** Throws AppError notFound if there is no such project. */
export function namesIn(records: Records, project: string): ProjectNames {
  needProject(records, project);
  const of = (feature: ProjectFeature) => (name: string) => qualifiedName(projectWith(records, project, feature), name);
  return {
    project,
    container: (name) => qualifiedName(project, name),
    profile: of('features.profiles'),
    image: of('features.images'),
    alias: of('features.images'),
    volume: of('features.storage.volumes'),
  };
}
