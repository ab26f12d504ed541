// Shared by sources without history: stores fetched files, and checks a revision out if it is stored or still the newest.
import { join } from 'node:path';
import { type Checkout, type Source, type SourceRevision, sourceErrors } from '../source.ts';
import type { SourceContext } from '../source-context.ts';
import type { SourceLimits } from '../source-schema.ts';
import { Checkouts } from './checkouts.ts';
import { folderPath } from './entry-path.ts';
import { limitsOf, type TreeLimits } from './limits.ts';
import { limitedAction, type LimitedAction } from './limited-action.ts';

export interface KeptFiles {
  /** Names the source in messages. */
  readonly what: string;
  /** Its files are below this path. */
  readonly path: string;
  readonly limits: TreeLimits;
  readonly folder: string;
  readonly checkouts: Checkouts;
  readonly action: LimitedAction;
}

/** `noun`: names the tree in messages. `id`: stored files of another id are ignored. Throws SourceError `refused` for a path that leads out. */
export function keptFiles(
  name: string,
  settings: { readonly path?: string | undefined; readonly limits?: SourceLimits | undefined },
  { stateDir }: SourceContext,
  { noun, shown, id = shown }: { readonly noun: string; readonly shown: string; readonly id?: string },
): KeptFiles {
  const path = folderPath(settings.path);
  if (path === undefined)
    throw sourceErrors.refused(`source ${name}: the path ${JSON.stringify(settings.path)} does not lie in the ${noun}`);
  const what = `source ${name} (${shown})`;
  const limits = limitsOf(settings.limits);
  const folder = join(stateDir, 'sources', name);
  const checkouts = new Checkouts(join(folder, 'checkouts'), [id, path]);
  return { what, path, limits, folder, checkouts, action: limitedAction(what, limits.timeoutMs) };
}

/** `fetchNow` fetches the newest revision and stores its files. */
export function withoutHistory(
  { what, checkouts, action }: KeptFiles,
  fetchNow: (signal: AbortSignal) => Promise<SourceRevision>,
): Pick<Source, 'check' | 'checkout' | 'keepOnly'> {
  return {
    check: (signal) => action('the check', signal, fetchNow),
    async checkout(revision, signal): Promise<Checkout> {
      const there = await checkouts.find(revision);
      if (there !== undefined) return { dir: there };
      const found = await action('the checkout', signal, fetchNow);
      const dir = found.revision === revision ? await checkouts.find(revision) : undefined;
      if (dir === undefined)
        throw sourceErrors.notFound(`${what} has ${found.revision} now, and no copy of ${revision} was kept`);
      return { dir };
    },
    // A draft of a check at work would lose files.
    keepOnly: (revisions) => action('the deletion of old files', undefined, () => checkouts.keepOnly(revisions)),
  };
}
