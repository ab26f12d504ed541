// The names of mounted trees, read from their store.
import { DriverError } from '../../driver-error.ts';
import type { PoolSpec } from '../driver.ts';
import type { TreeNames } from '../trees/names.ts';
import type { TreeStore } from './store.ts';

export function storeNames(
  store: TreeStore,
  placeOf: (path: string) => { readonly pool: PoolSpec; readonly id: string },
  move: (from: string, to: string) => Promise<void>,
): TreeNames {
  const has = async (path: string): Promise<boolean> => {
    const { pool, id } = placeOf(path);
    return store.has(pool, id);
  };
  const treesIn = async (folder: string): Promise<readonly string[]> => {
    const { pool, id } = placeOf(folder);
    return childrenOf(id, await store.list(pool));
  };
  const moveTree = async (from: string, to: string): Promise<void> => {
    // Checked only after a failure: each check starts a program.
    await move(from, to).catch(async (error: unknown) => {
      if (!(await has(from))) throw withCode('ENOENT', `there is no ${from}`);
      if (await has(to)) throw withCode('EEXIST', `${to} is there`);
      throw error;
    });
  };
  return {
    has,
    isTree: has,
    treesIn,
    move: moveTree,
    async moveFolder(from, to) {
      for (const name of await treesIn(from)) await moveTree(`${from}/${name}`, `${to}/${name}`);
    },
  };
}

/** Names right below a folder. Pure. */
export function childrenOf(folder: string, volumes: readonly { readonly id: string }[]): readonly string[] {
  const begin = `${folder}/`;
  return volumes
    .filter(({ id }) => id.startsWith(begin) && !id.includes('/', begin.length))
    .map(({ id }) => id.slice(begin.length));
}

const withCode = (code: string, message: string): Error =>
  Object.assign(new DriverError(code === 'EEXIST' ? 'Exists' : 'NotFound', message), { code });
