// Sources without history share this: the files that they keep, and the checkout of a revision that the source may still have.
import { join } from 'node:path';
import { SourceError, type Checkout, type Source, type SourceRevision } from '../source.ts';
import type { SourceContext } from '../source-context.ts';
import type { SourceLimits } from '../source-schema.ts';
import { Checkouts } from './checkouts.ts';
import { folderPath } from './entry-path.ts';
import { limitsOf, type TreeLimits } from './limits.ts';
import { limitedAction, type LimitedAction } from './turns.ts';

export interface KeptFiles {
  /** The source in messages. */
  readonly what: string;
  /** Its files are below this path. */
  readonly path: string;
  readonly limits: TreeLimits;
  readonly folder: string;
  readonly checkouts: Checkouts;
  readonly action: LimitedAction;
}

/** `noun`: what the path lies in. `id`: kept files of another one are not used. Throws SourceError `refused` for a path that leads out. */
export function keptFiles(
  name: string,
  settings: { readonly path?: string | undefined; readonly limits?: SourceLimits | undefined },
  { stateDir }: SourceContext,
  { noun, shown, id = shown }: { readonly noun: string; readonly shown: string; readonly id?: string },
): KeptFiles {
  const path = folderPath(settings.path);
  if (path === undefined)
    throw new SourceError(
      'refused',
      `source ${name}: the path ${JSON.stringify(settings.path)} does not lie in the ${noun}`,
    );
  const what = `source ${name} (${shown})`;
  const limits = limitsOf(settings.limits);
  const folder = join(stateDir, 'sources', name);
  const checkouts = new Checkouts(join(folder, 'checkouts'), [id, path]);
  return { what, path, limits, folder, checkouts, action: limitedAction(what, limits.timeoutMs) };
}

/** `fetchNow` fetches the newest revision, and keeps its files. */
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
        throw new SourceError('not-found', `${what} has ${found.revision} now, and no copy of ${revision} was kept`);
      return { dir };
    },
    keepOnly: (revisions) => checkouts.keepOnly(revisions),
  };
}
