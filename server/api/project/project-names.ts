// Internal names of objects that belong to a project: in records, locks, on disk and on the host. Pure.

/** The project that always exists. */
export const defaultProject = 'default';

/** No name of a project, container, profile, volume or alias contains it. */
const separator = '%';

/** `PROJECT%NAME`; in the project `default` the plain name. So objects of different projects never have the same name on the host or in the
 *  store, and every use case but the edges works with one text. A name with % in it, which no object has, stays in the project: it never
 *  reads as another project's object. */
export const qualifiedName = (project: string, name: string): string =>
  project === defaultProject && !name.includes(separator) ? name : `${project}${separator}${name}`;

export function projectOf(qualified: string): string {
  const at = qualified.indexOf(separator);
  return at < 0 ? defaultProject : qualified.slice(0, at);
}

/** The name that users see. */
export const plainName = (qualified: string): string => qualified.slice(qualified.indexOf(separator) + 1);

/** The name of a container on its networks, as in LXD: outside the project `default` it begins with the project's. */
export const dnsName = (qualified: string): string =>
  projectOf(qualified) === defaultProject ? qualified : `${projectOf(qualified)}_${plainName(qualified)}`;

export function urlInProject(collection: string, qualified: string, ...parts: readonly string[]): string {
  const path = [collection, ...[plainName(qualified), ...parts].map(encodeURIComponent)].join('/');
  const project = projectOf(qualified);
  return project === defaultProject ? path : `${path}?project=${encodeURIComponent(project)}`;
}

/** `parts` are path segments below the container, such as `snapshots`, `NAME`. */
export const containerUrl = (qualified: string, ...parts: readonly string[]): string =>
  urlInProject('/1.0/containers', qualified, ...parts);
export const profileUrl = (qualified: string): string => urlInProject('/1.0/profiles', qualified);
export const imageUrl = (qualified: string): string => urlInProject('/1.0/images', qualified);
export const projectUrl = (name: string): string => `/1.0/projects/${encodeURIComponent(name)}`;
/** Slashes of aliases are kept. */
export const aliasUrl = (qualified: string): string =>
  urlInProject('/1.0/images/aliases', qualified).replaceAll('%2F', '/');
