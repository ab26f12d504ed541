// Lists of one kind over every project of a server, for `gantry get --all-projects`.
import { defaultProject } from '../../../../server/api/project/project-names.ts';
import type { KindName } from '../../../../server/api/kinds.ts';
import { hasExtension } from '../../../../server/api/server/capability.ts';
import type { Client } from '../../../../server/client/client.ts';
import { isNotFound } from '../../../../server/client/client-error.ts';
import { scopesOf } from '../../../core/live/project-scope.ts';
import { commandError } from '../../errors/usage-error.ts';

/** Objects with their `project`; each once, in the project that owns it. */
export async function listOfAllProjects<T extends object>(
  client: Client,
  kind: KindName,
  list: (client: Client) => Promise<readonly T[]>,
  signal: AbortSignal,
): Promise<readonly (T & { readonly project: string })[]> {
  const { metadata } = await client.server(signal);
  if (!hasExtension(metadata.api_extensions, 'projects'))
    throw commandError(`--all-projects: ${client.host} has no projects; run the command without it`);
  const projects = await client.list('project', signal);
  const { hasOwn } = scopesOf({ projects: new Map(projects.map((object) => [object.name, { object }])) });
  const lists = await Promise.all(
    projects
      .filter(({ name }) => name === defaultProject || hasOwn(kind, name))
      .map(async ({ name: project }) => {
        const objects = await list(client.inProject(project)).catch((error: unknown) => {
          // The project was deleted in the meantime.
          if (isNotFound(error)) return [];
          throw error;
        });
        return objects.map((object) => ({ ...object, project }));
      }),
  );
  return lists.flat();
}
