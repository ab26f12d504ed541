// Applies recorded sizes again after a crash during a resize.
import type { ServiceParts } from '../shared/service-parts.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { LimitForm, PoolSpec, StorageDriver, VolumeRef } from '../../drivers/storage/driver.ts';
import type { Records } from '../../records/records.ts';
import { rootSize } from './root-size.ts';
import { expand } from '../shared/expand.ts';
import type { Pools } from './pools.ts';
import { limitForm, refOf, volumeSize } from './custom-volumes.ts';
import { profilesOf } from '../shared/project-scope.ts';

interface Deps extends Pick<ServiceParts, 'records' | 'log'> {
  readonly pools: Pools;
}

interface VolumeLimit {
  readonly volume: VolumeRef;
  readonly bytes: number | undefined;
  readonly form?: LimitForm;
}

/** Call at daemon start, after recovery and before requests. Logs failures. */
export async function reapplyLimits(deps: Deps): Promise<void> {
  for (const { name } of deps.records.pools.list()) {
    try {
      const { driver, pool } = deps.pools.use(name);
      if (driver.limitsIn === undefined || !deps.pools.canLimit(name)) continue;
      await reapplyIn(deps, driver, pool);
    } catch (error) {
      deps.log.warn(`Limits of the storage pool ${name} cannot be set again: ${errorText(error)}`);
    }
  }
}

/** A volume whose size cannot be set leaves those of the others alone. */
async function reapplyIn({ records, log }: Deps, driver: StorageDriver, pool: PoolSpec): Promise<void> {
  const limitOf = await driver.limitsIn?.(pool);
  for (const { volume, bytes, form } of wantedIn(records, pool.name)) {
    if (limitOf?.(volume) === bytes) continue;
    await driver.limitVolume(pool, volume, bytes, form).catch((error: unknown) => {
      const what = `${volume.type} volume ${volume.name} of the storage pool ${pool.name}`;
      log.warn(`The limit of the ${what} cannot be set again: ${errorText(error)}`);
    });
  }
}

function wantedIn(records: Records, pool: string): readonly VolumeLimit[] {
  const containers = records.containers
    .list()
    .filter(({ document }) => document.pool === pool && document.lifecycle === 'ready')
    .map(({ name, document }) => ({
      volume: { type: 'container' as const, name },
      bytes: rootSize(expand(document, profilesOf(records, name)).devices),
    }));
  const volumes = records.volumes
    .list()
    .filter(({ name, document }) => name.startsWith(`${pool}/`) && document.lifecycle === 'ready')
    .map(({ name, document }) => ({
      volume: refOf(name.slice(pool.length + 1)),
      bytes: volumeSize(document.config),
      form: limitForm(document.config),
    }));
  return [...containers, ...volumes];
}
