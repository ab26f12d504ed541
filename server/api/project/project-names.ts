// Names of objects that belong to a project, as the daemon uses them inside: in records, locks, on disk and on the host. Pure.

/** The project that always exists. */
export const defaultProject = 'default';

/** No name of a project, container, profile, volume or alias holds it. */
const separator = '%';

/**
 * `PROJECT%NAME`; in the project `default` the plain name. So two objects of different projects never have the same name on the host or
 * in the store, and every use case but the edges works with one text. A name that holds % itself, which no object has, stays in the
 * project: it never reads as an object of another one.
 */
export const qualifiedName = (project: string, name: string): string =>
  project === defaultProject && !name.includes(separator) ? name : `${project}${separator}${name}`;

/** The project of a qualified name. */
export function projectOf(qualified: string): string {
  const at = qualified.indexOf(separator);
  return at < 0 ? defaultProject : qualified.slice(0, at);
}

/** The name that users see. */
export const plainName = (qualified: string): string => qualified.slice(qualified.indexOf(separator) + 1);

/** The name of a container on its networks, as the real system has it: those of projects other than `default` begin with theirs. */
export const dnsName = (qualified: string): string =>
  projectOf(qualified) === defaultProject ? qualified : `${projectOf(qualified)}_${plainName(qualified)}`;

/** The URL of an object; `parts` are path segments below it. */
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
/** Aliases may hold slashes, which stay slashes. */
export const aliasUrl = (qualified: string): string =>
  urlInProject('/1.0/images/aliases', qualified).replaceAll('%2F', '/');
