// What names a project by its name alone, and so must follow when that name changes or gets free.
import { withGroupProjects } from '../../auth/oidc/settings.ts';
import type { Changes, Records } from '../../records/records.ts';

/** Clients restricted to the project stay restricted: to its new name, or (`to` undefined: it is deleted) to their remaining projects. */
export function moveGrants(records: Records, changes: Changes, project: string, to?: string): void {
  const moved = (list: readonly string[]): readonly string[] =>
    list.flatMap((each) => (each === project ? (to ?? []) : each));
  for (const { name, document } of records.certificates.list()) {
    const lists = (['projects', 'listed'] as const).filter((list) => document[list]?.includes(project) === true);
    if (lists.length === 0) continue;
    const grants = Object.fromEntries(lists.map((list) => [list, moved(document[list] ?? [])]));
    changes.put('certificates', name, { ...document, ...grants });
  }
  const server = records.server.get('config')?.document;
  if (server === undefined) return;
  const config = withGroupProjects(server.config, moved);
  if (config !== server.config) changes.put('server', 'config', { ...server, config });
}
