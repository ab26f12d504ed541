// What names a project by its name alone, and so must follow when that name changes or gets free.
import { withoutProject } from '../../auth/oidc/settings.ts';
import type { Changes, Records } from '../../records/records.ts';

/** Clients restricted to the project stay restricted: to its new name, or (`to` undefined: it is deleted) to their remaining projects. */
export function moveGrants(records: Records, changes: Changes, project: string, to?: string): void {
  const moved = (list: readonly string[]): readonly string[] =>
    list.flatMap((each) => (each === project ? (to ?? []) : each));
  for (const { name, document } of records.certificates.list())
    for (const list of ['projects', 'listed'] as const)
      if (document[list]?.includes(project) === true)
        changes.put('certificates', name, { ...document, [list]: moved(document[list]) });
  const server = records.server.get('config')?.document;
  if (server === undefined) return;
  const config = withoutProject(server.config, project, to);
  if (config !== server.config) changes.put('server', 'config', { ...server, config });
}
