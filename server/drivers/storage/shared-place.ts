// The directory of a pool that every member of a cluster mounts: a marker in it proves to each that it has the same file system.
import { lstat, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../lib/shared/error-code.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import { syncDirectory, writeDurably } from '../../lib/durable-files.ts';
import { driverErrors } from '../driver-error.ts';
import type { PoolSpec } from './driver.ts';

export interface ClusterPart {
  readonly id: string;
  readonly member: number;
}

export const markerName = '.gantry-pool.json';
const longestMarker = 4096;

interface Marker {
  readonly v: 1;
  readonly cluster: string;
  readonly pool: string;
}

/** Pure. */
export const isShared = ({ config }: Pick<PoolSpec, 'config'>): boolean => isTrue(config['source.shared'] ?? '');

/** The name prefix of a member's temporary files; other members leave files with it alone. Pure. */
export const tagOf = (cluster: ClusterPart | undefined): string => (cluster === undefined ? '' : `m${cluster.member}-`);

/** The pool's cluster and id. Throws Invalid outside a cluster. */
export function wantedMarker(pool: PoolSpec, cluster: ClusterPart | undefined): Marker {
  if (cluster === undefined)
    throw driverErrors.invalid(
      `config.source.shared: pool ${pool.name} is for the members of a cluster, and this server is in none`,
    );
  return { v: 1, cluster: cluster.id, pool: pool.config['source.shared.id'] ?? '' };
}

/** Undefined: there is none. Throws Failed for one that cannot be read: a member of another cluster may have written it. */
export async function readMarker(source: string): Promise<Marker | undefined> {
  const path = join(source, markerName);
  try {
    const stats = await lstat(path);
    if (!stats.isFile() || stats.size > longestMarker) throw new Error('it is not a marker of a shared pool');
    const { v, cluster, pool } = JSON.parse(await readFile(path, 'utf8')) as Partial<Marker>;
    if (v !== 1 || typeof cluster !== 'string' || typeof pool !== 'string')
      throw new Error('it is not a marker of a shared pool');
    return { v, cluster, pool };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw driverErrors.failed(`cannot read ${path}`, error);
  }
}

/** The first member created the directory, and nothing else is in it. */
export async function writeMarker(source: string, marker: Marker): Promise<void> {
  await writeDurably(join(source, markerName), `${JSON.stringify(marker)}\n`, 0o600);
}

/** Throws Invalid with what to do, unless the directory is that of this pool. */
export async function checkMarker(source: string, name: string, wanted: Marker): Promise<void> {
  const found = await readMarker(source);
  if (found === undefined)
    throw driverErrors.invalid(
      `config.source: ${source} is not the file system that the other members have as pool ${name}: mount that one there first`,
    );
  if (found.cluster !== wanted.cluster)
    throw driverErrors.invalid(`config.source: ${source} is a shared pool of another cluster, not pool ${name}`);
  if (found.pool !== wanted.pool)
    throw driverErrors.invalid(`config.source: ${source} is another shared pool, not pool ${name}`);
}

export async function removeMarker(source: string): Promise<void> {
  await rm(join(source, markerName), { force: true });
  await syncDirectory(source);
}
