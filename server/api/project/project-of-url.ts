// Which project the object at a URL belongs to. Pure.
import { defaultProject } from './project-names.ts';

const ofProjects = /^\/1\.0\/(?:containers|profiles|images|storage-pools\/[^/]+\/volumes)\//;

/** Undefined: no project, as for networks, pools and the server. */
export function projectOfUrl(url: string): string | undefined {
  const query = url.indexOf('?');
  const named = query < 0 ? null : new URLSearchParams(url.slice(query)).get('project');
  if (named !== null) return named;
  return ofProjects.test(url) ? defaultProject : undefined;
}
