// Checks before every change of a volume: it exists and is custom, its config is valid, and no user of it runs.
import type { ServiceParts } from '../shared/service-parts.ts';
import { errors, mustFind } from '../../api/errors.ts';
import type { Problem } from '../../api/problem.ts';
import { defaultSize, keysOf, type PoolDriver } from '../../api/storage/storage-config.ts';
import { validateVolumeConfig } from '../../api/storage/validate-storage-config.ts';
import type { VolumeDocument } from '../../records/documents.ts';
import { type VolumeId, volumeKey } from '../../records/record-names.ts';
import { lockOf as containerLock } from '../shared/find-container.ts';
import { volumeSize } from './custom-volumes.ts';
import type { Pools } from './pools.ts';
import { limitingPools } from './root-size.ts';
import { checkVolumeType } from './volume-lists.ts';
import { useLock } from './volume-use.ts';
import { containersUsing, runningUsers } from './volume-users.ts';

export interface VolumesDeps extends Pick<
  ServiceParts,
  'records' | 'runtime' | 'operations' | 'sagas' | 'events' | 'locks' | 'clock'
> {
  readonly pools: Pools;
  readonly backupsDir: string;
  /** Name of this member of a cluster; `none` outside one. */
  readonly location: () => string;
}

export const volumeLock = (volume: VolumeId): string => `volume/${volumeKey(volume)}`;

/** During `work` no container with one of the volumes starts, also one that gets it meanwhile, and none that runs plugs it. `others`: are locked,
 *  too, and their users may start. */
export async function withVolumes<T>(
  { records, locks }: Pick<VolumesDeps, 'records' | 'locks'>,
  volumes: readonly VolumeId[],
  work: () => Promise<T>,
  others: readonly VolumeId[] = [],
): Promise<T> {
  const users = volumes.flatMap((volume) => containersUsing(records, volume));
  return locks.runAll(users.map(containerLock), () =>
    locks.runAllUnshared(volumes.map(useLock), () => locks.runAll([...volumes, ...others].map(volumeLock), work)),
  );
}

export function refuseRunningUsers(
  { records, runtime }: Pick<VolumesDeps, 'records' | 'runtime'>,
  volume: VolumeId,
  what: string,
): void {
  const running = runningUsers(records, runtime, volume);
  if (running.length === 0) return;
  throw errors.badRequest(
    `The storage volume ${volumeKey(volume)} is used by running containers (${running.join(', ')}): stop them before ${what}`,
  );
}

export function checkedVolumeConfig<C extends VolumeDocument['config']>(
  pools: Pools,
  pool: string,
  config: C,
  old?: VolumeDocument['config'],
): C {
  const problems = volumeConfigProblems(pools, pool, config, old);
  if (problems.length > 0) throw errors.invalid('storage volume', problems);
  return config;
}

export function volumeConfigProblems(
  pools: Pools,
  pool: string,
  config: VolumeDocument['config'],
  old?: VolumeDocument['config'],
): Problem[] {
  const problems = validateVolumeConfig(pools.use(pool).driver.name as PoolDriver, config, old);
  const isNew = config['size'] !== old?.['size'] && volumeSize(config) !== undefined;
  if (!isNew || pools.canLimit(pool)) return problems;
  return [...problems, { path: 'config.size', message: `pool ${pool} cannot limit a volume: use ${limitingPools}` }];
}

/** Adds volume.size of the pool to the config of an empty volume, where the driver does not read that key itself. */
export function withPoolSize(pools: Pools, pool: string, config: Record<string, string>): Record<string, string> {
  const { driver, pool: made } = pools.use(pool);
  const size = defaultSize(driver.name as PoolDriver, made.config);
  return size === '' || (config['size'] ?? '') !== '' || !pools.canLimit(pool) ? config : { ...config, size };
}

/** Without volume keys that have no meaning in the pool. */
export function keysIn(pools: Pools, pool: string, config: VolumeDocument['config']): Record<string, string> {
  const kept = keysOf(pools.use(pool).driver.name as PoolDriver, config);
  return pools.canLimit(pool) ? kept : Object.fromEntries(Object.entries(kept).filter(([key]) => key !== 'size'));
}

export function customVolume(pool: string, type: string, name: string): VolumeId {
  if (checkVolumeType(type) !== 'custom')
    throw errors.badRequest(
      `Volumes of type ${type} change with what they belong to; only custom ones can be changed here`,
    );
  return { pool, name };
}

/** Throws AppError notFound. */
export function findVolume(
  { records, pools }: Pick<VolumesDeps, 'records' | 'pools'>,
  volume: VolumeId,
): VolumeDocument {
  pools.use(volume.pool);
  return mustFind(records.volumes.get(volumeKey(volume))?.document, 'storage volume', volumeKey(volume));
}
