// Chooses the set of a command: --set, else the `manage.set` of the manifests, else `default`. Pure.
import type { Document } from '../../core/documents/document.ts';
import { defaultSet, setNamePattern } from '../../core/ownership/owner-records.ts';
import type { HostOptions } from './host-flags.ts';
import type { PlanFlagOptions } from './plan-flags.ts';
import { setInProject } from '../../core/ownership/project-notes.ts';
import { usageError } from '../errors/usage-error.ts';

export function setNameOf(
  options: Pick<PlanFlagOptions, 'set' | 'prune'> & Pick<HostOptions, 'project'>,
  documents: readonly Document[],
): string {
  const written = [...new Set(documents.flatMap(({ manage }) => manage.set ?? []))].sort();
  if (options.set === undefined && written.length > 1) {
    throw usageError(`the manifests name several sets (${written.join(', ')}): apply them one by one, or give --set`);
  }
  const name = options.set ?? written[0];
  if (name !== undefined && !setNamePattern.test(name)) {
    throw usageError(`--set ${JSON.stringify(name)} must be lower-case letters, digits, - and _, at most 40`);
  }
  // Two directories without a set name would prune each other's objects.
  if (name === undefined && options.prune === true) {
    throw usageError(
      '--prune deletes what the set owns and no manifest declares: name the set with --set or manage.set',
    );
  }
  return setInProject(name ?? defaultSet, options.project);
}
