// The names of trees: entries of a pool's directories, or of its store (logical volumes, datasets), which mounts each tree at the path of
// its name.
import { lstat, readdir, rename } from 'node:fs/promises';
import { ifMissing } from '../../../lib/shared/missing-files.ts';

export interface TreeNames {
  has(path: string): Promise<boolean>;
  isTree(path: string): Promise<boolean>;
  /** Names of the trees right in a folder. A folder that is not there is empty, or an error with the code ENOENT. */
  treesIn(folder: string): Promise<readonly string[]>;
  /** In one step. Throws an error with the code ENOENT when there is no `from`, EEXIST or ENOTEMPTY when `to` is taken. */
  move(from: string, to: string): Promise<void>;
  /** Moves all trees of a folder into another one; continues an interrupted move. */
  moveFolder(from: string, to: string): Promise<void>;
}

export const directoryNames: TreeNames = {
  has: exists,
  isTree: isDirectory,
  async treesIn(folder) {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  },
  move: rename,
  async moveFolder(from, to) {
    if (await exists(from)) await rename(from, to);
  },
};

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(ifMissing)) !== undefined;
}

/** The directory itself, not one that a symbolic link leads to. */
async function isDirectory(path: string): Promise<boolean> {
  return (await lstat(path).catch(ifMissing))?.isDirectory() ?? false;
}
