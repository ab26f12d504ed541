// Aliases of releases without projects, whose names could have a %: such a name reads like one of a project.
import { defaultProject, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import type { Log } from '../../lib/log.ts';
import type { Records } from '../../records/records.ts';

/** At daemon start: an alias of a project that is not there belongs to the default project, where it can be seen and deleted. */
export async function adoptFormerAliases({
  records,
  log,
}: {
  readonly records: Records;
  readonly log: Pick<Log, 'warn'>;
}): Promise<void> {
  for (const { name, document } of records.aliases.list()) {
    const project = projectOf(name);
    if (project === defaultProject || records.projects.has(project)) continue;
    const settled = qualifiedName(defaultProject, name);
    await records.retry((changes) => {
      changes.delete('aliases', name);
      if (!records.aliases.has(settled)) changes.put('aliases', settled, document);
    });
    log.warn(`The image alias ${name} has a % in its name, which new aliases may not have: give its image another one`);
  }
}
