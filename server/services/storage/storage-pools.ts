// Storage pools: the use cases of the API.
import type { ServiceParts } from '../shared/service-parts.ts';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PoolResources, PoolSpec, StorageDriver } from '../../drivers/storage/driver.ts';
import type { StoragePool, StoragePoolCreate, StoragePoolPut } from '../../api/storage/pool.ts';
import { errors, checkName } from '../../api/errors.ts';
import { imageUrl } from '../../api/project/project-names.ts';
import { poolName } from '../../api/names.ts';
import { findPoolConfigKey } from '../../api/storage/storage-config.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import { validatePoolConfig } from '../../api/storage/validate-storage-config.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { PoolDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';
import type { Caller } from '../shared/caller.ts';
import { storedConfig } from '../shared/settings.ts';
import { poolKeys } from '../shared/member-keys.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { patchDescribed, replaceConfig } from '../shared/patch.ts';
import { unpackedImages } from '../shared/unpacked-images.ts';
import { poolUsers, poolUrl, refuseUsedPool, snapshotsInPool } from './pool-users.ts';
import { poolLock, poolSpec, type Pools } from './pools.ts';
import { createPoolSaga } from './sagas/pool-create.ts';
import { deletePoolSaga } from './sagas/pool-delete.ts';

export interface StoragePoolsDeps extends Pick<ServiceParts, 'records' | 'sagas' | 'events' | 'locks' | 'log'> {
  readonly pools: Pools;
}

export class StoragePools {
  readonly #deps: StoragePoolsDeps;

  constructor(deps: StoragePoolsDeps) {
    this.#deps = deps;
  }

  list(): Promise<readonly StoragePool[]> {
    return Promise.all(this.#deps.records.pools.list().map((entry) => this.#render(entry)));
  }

  names(): readonly string[] {
    return this.#deps.records.pools.list().map((entry) => entry.name);
  }

  async get(name: string): Promise<{ readonly object: StoragePool; readonly etag: string }> {
    const entry = this.#deps.pools.find(name);
    return { object: await this.#render(entry), etag: this.#etag(name, entry.document) };
  }

  async create(caller: Caller, body: StoragePoolCreate): Promise<void> {
    const { name } = body;
    checkName('storage pool', name, poolName);
    const driver = this.#deps.pools.driver(body.driver);
    const sent = withServerSettings(this.#deps.records, body.driver, replaceConfig(body.config, findPoolConfigKey));
    const problems = validatePoolConfig(body.driver, sent);
    if (problems.length > 0) throw errors.invalid(`storage pool ${name}`, problems);
    // One at a time: two concurrent new pools in one place would not detect each other.
    await this.#deps.locks.runAll([poolLock(name), 'pool-places'], async () => {
      if (this.#deps.records.pools.has(name)) throw errors.exists('storage pool', name);
      const config = await driver.fillConfig({ name, driver: body.driver, config: sent });
      this.#refuseTakenPlace(name, config['source']);
      await refuseFormerPool(driver, { name, driver: body.driver, config });
      const document: PoolDocument = {
        v: 1,
        description: body.description ?? '',
        driver: body.driver,
        config,
        lifecycle: 'ready',
      };
      await this.#deps.sagas.run(createPoolSaga(this.#deps), { name, document });
    });
    this.#deps.events.lifecycle('storage-pool-created', poolUrl(name), caller);
  }

  put(caller: Caller, name: string, body: StoragePoolPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, (document) => ({
      ...document,
      config: withId(replaceConfig(body.config, findPoolConfigKey, document.config), document.config),
      description: body.description ?? '',
    }));
  }

  patch(caller: Caller, name: string, body: StoragePoolPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, (document) => patchDescribed(document, body, findPoolConfigKey));
  }

  async delete(caller: Caller, name: string): Promise<void> {
    this.#deps.pools.find(name);
    await this.#deps.sagas.finishUndo('pools', name);
    // A pool in creation is gone once that is undone.
    if (!this.#deps.records.pools.has(name)) return;
    await this.#deps.locks.run(poolLock(name), async () => {
      const { document } = this.#deps.pools.find(name);
      refuseUsedPool(this.#deps.records, name);
      await this.#deps.sagas.run(deletePoolSaga(this.#deps), { name, document });
    });
    this.#deps.events.lifecycle('storage-pool-deleted', poolUrl(name), caller);
  }

  resources(name: string): Promise<PoolResources> {
    return this.#deps.pools.resources(name);
  }

  async #change(
    caller: Caller,
    name: string,
    ifMatch: string | undefined,
    next: (document: PoolDocument) => PoolDocument,
  ): Promise<void> {
    await this.#deps.locks.run(poolLock(name), async () => {
      const { document } = this.#deps.pools.find(name);
      checkIfMatch(ifMatch, this.#etag(name, document), 'storage pool', name);
      const wanted = next(document);
      const problems = validatePoolConfig(document.driver, wanted.config, document.config);
      if (problems.length > 0) throw errors.invalid(`storage pool ${name}`, problems);
      // The host first: a change that it refuses is not recorded.
      const driver = this.#deps.pools.driver(document.driver);
      await driver.applyConfig(poolSpec(name, wanted), poolSpec(name, document));
      try {
        await this.#deps.records.retry((changes) => {
          this.#deps.pools.find(name);
          changes.put('pools', name, wanted);
        });
      } catch (error) {
        await driver.applyConfig(poolSpec(name, document), poolSpec(name, wanted)).catch((again: unknown) => {
          this.#deps.log.error(`Taking back the change of pool ${name} failed: ${errorText(again)}`);
        });
        throw error;
      }
    });
    this.#deps.events.lifecycle('storage-pool-updated', poolUrl(name), caller);
  }

  /** The same on every member of a cluster. */
  #etag(name: string, document: PoolDocument): string {
    const isShared = this.#deps.records.poolDefinitions.has(name);
    return etagOf.pool(isShared ? { ...document, config: poolKeys.split(document.config).shared } : document);
  }

  /** A pool inside, around or at the place of another would be deleted with it. */
  #refuseTakenPlace(name: string, source: string | undefined): void {
    if (source === undefined) return;
    const holder = this.#deps.records.pools.list().find(({ document }) => {
      const other = document.config['source'];
      return other !== undefined && (isInside(source, other) || isInside(other, source));
    });
    if (holder === undefined) return;
    throw errors.invalid(`storage pool ${name}`, [
      { path: 'config.source', message: `${source} is where the storage pool ${holder.name} is` },
    ]);
  }

  async #render({ name, document }: Entry<PoolDocument>): Promise<StoragePool> {
    const { records } = this.#deps;
    const images = await this.#imagesIn(name, document);
    return {
      name,
      description: document.description,
      driver: document.driver,
      config: { ...document.config },
      status: document.lifecycle === 'ready' ? 'Created' : 'Pending',
      locations: ['none'],
      used_by: [...poolUsers(records, name), ...snapshotsInPool(records, name), ...images],
    };
  }

  /** Images that the pool has unpacked. They do not prevent its deletion: they are deleted with it. */
  async #imagesIn(name: string, document: PoolDocument): Promise<readonly string[]> {
    if (document.lifecycle !== 'ready') return [];
    const volumes = await this.#deps.pools.listVolumes(name).catch(() => []);
    const fingerprints = volumes.filter(({ type }) => type === 'image').map((volume) => volume.name);
    return unpackedImages(this.#deps.records, name, fingerprints).map((image) => imageUrl(image.name));
  }
}

/** Server settings that are the defaults of new pools. */
const serverSettings = [
  ['lvm', 'storage.lvm_mount_options', 'volume.block.mount_options'],
  ['zfs', 'storage.zfs_remove_snapshots', 'volume.zfs.remove_snapshots'],
  ['zfs', 'storage.zfs_use_refquota', 'volume.zfs.use_refquota'],
] as const;

function withServerSettings(records: Records, driver: string, config: Record<string, string>): Record<string, string> {
  const stored = storedConfig(records);
  const defaults = serverSettings.flatMap(([of, setting, key]) => {
    const value = stored[setting] ?? '';
    return of === driver && value !== '' ? [[key, value] as const] : [];
  });
  return { ...Object.fromEntries(defaults), ...config };
}

/** A creation over an earlier daemon's pool would fail halfway, and its undo would find the volumes there. */
async function refuseFormerPool(driver: StorageDriver, pool: PoolSpec): Promise<void> {
  if (isTrue(pool.config['source.shared'])) return;
  const isThere = await driver.findPool(pool).then(
    () => true,
    () => false,
  );
  if (!isThere) return;
  // An unreadable directory is a pool that is not mounted.
  const copies = await readdir(join(driver.recordsPath(pool), 'pools')).catch(() => undefined);
  if (copies?.length === 0) return;
  const message = `${pool.config['source']} has a pool of an earlier daemon: gantryd recover brings it back; remove it if it is not needed`;
  throw errors.invalid(`storage pool ${pool.name}`, [{ path: 'config.source', message }]);
}

/** The members identify a shared pool by its id, which a client may omit. Pure. */
function withId(config: Record<string, string>, before: PoolDocument['config']): Record<string, string> {
  const id = before['source.shared.id'];
  return id === undefined ? config : { 'source.shared.id': id, ...config };
}

function isInside(directory: string, path: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}
