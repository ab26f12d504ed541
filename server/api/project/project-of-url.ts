// Finds the project and the container of the object at a URL. Pure.
import { defaultProject, qualifiedName } from './project-names.ts';

const ofProjects = /^\/1\.0\/(?:containers|profiles|images|storage-pools\/[^/]+\/volumes)\//;

/** Undefined: no project, as for networks, pools and the server. */
export function projectOfUrl(url: string): string | undefined {
  const query = url.indexOf('?');
  const named = query < 0 ? null : new URLSearchParams(url.slice(query)).get('project');
  if (named !== null) return named;
  return ofProjects.test(url) ? defaultProject : undefined;
}

/** The qualified name of the container at the URL, or of its owner; undefined for anything else. */
export function containerOfUrl(url: string): string | undefined {
  const name = /^\/1\.0\/containers\/([^/?]+)/.exec(url)?.[1];
  return name === undefined ? undefined : qualifiedName(projectOfUrl(url) ?? defaultProject, decodeURIComponent(name));
}
