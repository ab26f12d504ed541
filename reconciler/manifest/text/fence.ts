// Confines the paths of manifests to a tree. A user's own manifests may name any file; a controller reads manifests that others
// push, so every path in them is checked here, including links.
import { AsyncLocalStorage } from 'node:async_hooks';
import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';

const fences = new AsyncLocalStorage<string>();

/** Confines reads of `work` through `inFence` to this folder, whose files must not change during `work`, like those of a checkout. */
export const withFence = <T>(root: string, work: () => T): T => fences.run(realpathSync(root), work);

/** The folder of the fence around the caller, for the fence of a thread. */
export const fenceHere = (): string | undefined => fences.getStore();

/** The path, if it is inside the fence or there is no fence. Throws an error for the author of the manifest. */
export function inFence(path: string): string {
  const root = fences.getStore();
  if (root === undefined) return path;
  const real = realPath(path);
  if (real === root || real.startsWith(root + sep)) return path;
  throw new Error(`${shown(path, root)} leads out of the files of the source: put the file into it`);
}

/** The path with links resolved, even if its last part does not exist. */
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

/** Hides the folder in which the source stores its files. */
function shown(path: string, root: string): string {
  const inside = relative(root, path);
  return inside === '' ? 'the path' : inside;
}
