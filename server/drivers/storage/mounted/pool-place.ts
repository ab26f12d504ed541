// Shared by pools with mounted trees: the place of the source, its owner, and the removal.
import { createHash } from 'node:crypto';
import { rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../../lib/shared/error-code.ts';
import { driverErrors } from '../../driver-error.ts';
import type { PoolSpec } from '../driver.ts';
import { poolFolders, volumeFolder } from '../layout.ts';
import { loopFileOf } from '../loop-file.ts';
import type { TreeStore } from './store.ts';

/** Where what holds the volumes is; `given`: it was there before the pool, under the name in `source`. */
export type Location =
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'device'; readonly device: string }
  | { readonly kind: 'given' };

export function locationOf(root: string, pool: PoolSpec): Location {
  const source = pool.config['source'] ?? '';
  const file = loopFileOf(root, pool);
  if (source === '' || source === file) return { kind: 'file', file };
  if (source.startsWith('/')) return { kind: 'device', device: source };
  const initial = pool.config['volatile.initial_source'] ?? '';
  return initial.startsWith('/') ? { kind: 'device', device: initial } : { kind: 'given' };
}

/** Recognizes what a pool of this daemon is on. */
export const tagOf = (root: string, { name }: PoolSpec): string =>
  createHash('sha256').update(`${root}\n${name}`).digest('hex').slice(0, 16);

/** Throws InUse; `what` begins its message. */
export async function refuseVolumes(store: TreeStore, pool: PoolSpec, what: string): Promise<void> {
  const kept = [volumeFolder('container'), volumeFolder('custom')];
  const found = (await store.list(pool)).find(({ id }) => kept.some((folder) => id.startsWith(`${folder}/`)));
  if (found !== undefined) throw driverErrors.inUse(`${what} the volume ${found.id}`);
}

/** Removes the empty folders of a pool; missing ones are fine. */
export async function removePlace(root: string): Promise<void> {
  for (const path of [...poolFolders.map((folder) => join(root, folder)), root])
    await rmdir(path).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw driverErrors.failed(`cannot delete the directory ${path}`, error);
    });
}
