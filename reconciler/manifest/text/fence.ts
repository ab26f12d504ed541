// The tree that the paths of manifests may not leave. A person's own manifests may name any file; those of a repository that others push to
// are read by a controller, so every path that they name is checked here, links included.
import { AsyncLocalStorage } from 'node:async_hooks';
import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';

const fences = new AsyncLocalStorage<string>();

/** Whatever `work` reads through `inFence` lies below this folder. Its files must not change meanwhile, as those of a checkout do not. */
export const withFence = <T>(root: string, work: () => Promise<T>): Promise<T> => fences.run(realpathSync(root), work);

/** The path, when it lies inside of the fence or there is none. Throws an error for the author of the manifest. */
export function inFence(path: string): string {
  const root = fences.getStore();
  if (root === undefined) return path;
  const real = realPath(path);
  if (real === root || real.startsWith(root + sep)) return path;
  throw new Error(`${shown(path, root)} leads out of the files of the source: put the file into it`);
}

/** The path without links, also where its end does not exist. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    const above = dirname(path);
    const isMissing = ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
    if (!isMissing || above === path) throw error;
    return join(realPath(above), basename(path));
  }
}

/** Says nothing of where the files of the source are kept. */
function shown(path: string, root: string): string {
  const inside = relative(root, path);
  return inside === '' ? 'the path' : inside;
}
