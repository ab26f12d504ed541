// Limits which addresses a restricted caller's connections may reach: image servers, migrations.
import { listOf } from '../../api/project/project-restrictions.ts';
import type { Reach } from '../../lib/reach.ts';
import type { Records } from '../../records/records.ts';
import type { Caller } from '../shared/caller.ts';

const key = 'restricted.remotes.networks';

/** Undefined: anywhere. */
export function reachOf(
  records: Pick<Records, 'projects'>,
  caller: Pick<Caller, 'class' | 'project'>,
): Reach | undefined {
  return caller.class === 'restricted' ? reachIn(records, caller.project) : undefined;
}

/** The reach of restricted callers of the project. */
export function reachIn(records: Pick<Records, 'projects'>, project: string): Reach | undefined {
  const allowed = listOf(records.projects.get(project)?.document.config[key]);
  if (allowed.includes('all')) return undefined;
  return {
    allowed,
    rule: `clients restricted to projects reach this host, links and private networks only as far as ${key} of the project ${project} lists them`,
  };
}
