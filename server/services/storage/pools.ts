// Storage pools: use cases of the API, and the volumes of a pool for other services.
import { containerUrl, poolName } from '../../api/names.ts';
import { DriverError } from '../../drivers/driver-error.ts';
import type {
  PoolResources,
  PoolSpec,
  SnapshotRef,
  SnapshotSource,
  StorageDriver,
  VolumeRef,
  VolumeSource,
} from '../../drivers/storage/driver.ts';
import { type StoragePool, type StoragePoolCreate, type StoragePoolPut, poolDrivers } from '../../api/storage/pool.ts';
import { errors } from '../../api/errors.ts';
import { nearestName } from '../../api/text/nearest-word.ts';
import { validatePoolConfig } from '../../api/storage/storage-config.ts';
import type { EventHub } from '../../events/hub.ts';
import type { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { errorText, type Log } from '../../lib/log.ts';
import type { Saga, Sagas } from '../../operations/saga.ts';
import type { PoolDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';
import type { Caller } from '../caller.ts';
import { checkIfMatch, etagOf } from '../etag.ts';
import { ownedBy } from '../owned-records.ts';
import { containersWith } from '../used-by.ts';
import { devicePools } from '../expand.ts';
import { mergeConfig, replaceConfig } from '../patch.ts';

export interface PoolsDeps {
  readonly records: Records;
  readonly drivers: Readonly<Record<string, StorageDriver>>;
  /** Why this host has no other drivers, by their names. */
  readonly missing?: Readonly<Record<string, string>>;
  readonly sagas: Sagas;
  readonly events: EventHub;
  readonly locks: KeyedMutex;
  readonly log: Log;
}

type CopySource = Extract<VolumeSource, { kind: 'copy' | 'tree' }>;

interface PoolParams {
  readonly name: string;
  readonly document: PoolDocument;
}

const urlOf = (name: string): string => `/1.0/storage-pools/${encodeURIComponent(name)}`;
export const lockOf = (name: string): string => `pool/${name}`;

export class Pools {
  readonly #deps: PoolsDeps;

  constructor(deps: PoolsDeps) {
    this.#deps = deps;
  }

  /** Sagas to be known at recovery. */
  sagas(): readonly Saga<PoolParams>[] {
    return [this.#createSaga(), this.#deleteSaga()];
  }

  list(): Promise<readonly StoragePool[]> {
    return Promise.all(this.#deps.records.pools.list().map((entry) => this.#render(entry)));
  }

  names(): readonly string[] {
    return this.#deps.records.pools.list().map((entry) => entry.name);
  }

  async get(name: string): Promise<{ readonly object: StoragePool; readonly etag: string }> {
    const entry = this.#find(name);
    return { object: await this.#render(entry), etag: etagOf.pool(entry.document) };
  }

  async create(caller: Caller, body: StoragePoolCreate): Promise<void> {
    const { name } = body;
    const rule = poolName(name);
    if (rule !== undefined) throw errors.invalidName('storage pool', name, rule);
    const driver = this.#availableDriver(body.driver);
    const sent = replaceConfig(body.config);
    const problems = validatePoolConfig(body.driver, sent);
    if (problems.length > 0) throw errors.invalid(`storage pool ${name}`, problems);
    // One at a time: two new pools in one place would not see each other.
    await this.#deps.locks.runAll([lockOf(name), 'pool-places'], async () => {
      if (this.#deps.records.pools.has(name)) throw errors.exists('storage pool', name);
      const config = await driver.fillConfig({ name, driver: body.driver, config: sent });
      this.#refuseTakenPlace(name, config['source']);
      const document: PoolDocument = {
        v: 1,
        description: body.description ?? '',
        driver: body.driver,
        config,
        lifecycle: 'ready',
      };
      await this.#run(this.#createSaga(), { name, document });
    });
    this.#deps.events.lifecycle('storage-pool-created', urlOf(name), undefined, caller.requestor);
  }

  put(caller: Caller, name: string, body: StoragePoolPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, (document) => ({
      ...document,
      config: replaceConfig(body.config),
      description: body.description ?? '',
    }));
  }

  patch(caller: Caller, name: string, body: StoragePoolPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, (document) => ({
      ...document,
      config: mergeConfig(document.config, body.config),
      description: body.description ?? document.description,
    }));
  }

  async delete(caller: Caller, name: string): Promise<void> {
    this.#find(name);
    await this.#deps.sagas.settle('pools', name);
    // One that was being made is gone once that is undone.
    if (!this.#deps.records.pools.has(name)) return;
    await this.#deps.locks.run(lockOf(name), async () => {
      const { document } = this.#find(name);
      this.#refuseUsed(name);
      await this.#run(this.#deleteSaga(), { name, document });
    });
    this.#deps.events.lifecycle('storage-pool-deleted', urlOf(name), undefined, caller.requestor);
  }

  async resources(name: string): Promise<PoolResources> {
    const { driver, pool } = this.#open(name);
    return driver.resources(pool);
  }

  /** Names of those that pools may be made with. */
  drivers(): readonly string[] {
    return Object.keys(this.#deps.drivers).toSorted();
  }

  /** Driver names of the pools there are, for the server's environment. */
  driversInUse(): readonly string[] {
    return [...new Set(this.#deps.records.pools.list().map((entry) => entry.document.driver))].sort();
  }

  /** At daemon start. A pool that cannot be used is reported and left alone. */
  async mountAll(): Promise<void> {
    for (const { name } of this.#deps.records.pools.list()) {
      try {
        const { driver, pool } = this.#open(name);
        await driver.mountPool(pool);
      } catch (error) {
        this.#deps.log.error(`The storage pool ${name} cannot be used: ${errorText(error)}`);
      }
    }
  }

  volumePath(poolOf: string, volume: VolumeRef): string {
    const { driver, pool } = this.#open(poolOf);
    return driver.volumePath(pool, volume);
  }

  /** Throws when something is where the volume would be: no record knows it, so somebody put it there. */
  async refuseVolume(poolOf: string, volume: VolumeRef): Promise<void> {
    const { driver, pool } = this.#open(poolOf);
    if (await driver.hasVolume(pool, volume)) throw errors.exists(`${volume.type} volume`, volume.name);
  }

  /** Idempotent, for sagas: a volume that is there is taken for the one made before; see `refuseVolume`. */
  async createVolume(
    poolOf: string,
    volume: VolumeRef,
    source: VolumeSource,
    progress: (text: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { driver, pool } = this.#open(poolOf);
    await driver.createVolume(pool, volume, source, progress, signal).catch((error: unknown) => {
      if (!(error instanceof DriverError && error.code === 'Exists')) throw error;
    });
  }

  async deleteVolume(poolOf: string, volume: VolumeRef): Promise<void> {
    const { driver, pool } = this.#open(poolOf);
    await driver.deleteVolume(pool, volume);
  }

  async renameVolume(poolOf: string, volume: VolumeRef, newName: string): Promise<void> {
    const { driver, pool } = this.#open(poolOf);
    await driver.renameVolume(pool, volume, newName);
  }

  /** A step of a saga, like createVolume: done already is success. */
  async createSnapshot(
    poolOf: string,
    snapshot: SnapshotRef,
    source: SnapshotSource,
    signal: AbortSignal,
  ): Promise<void> {
    const { driver, pool } = this.#open(poolOf);
    await driver.createSnapshot(pool, snapshot, source, signal).catch((error: unknown) => {
      if (!(error instanceof DriverError && error.code === 'Exists')) throw error;
    });
  }

  /** Files without a record: not ours to take, or to remove when a creation is undone. */
  async refuseSnapshot(poolOf: string, { volume, snapshot }: SnapshotRef): Promise<void> {
    const { driver, pool } = this.#open(poolOf);
    if (!(await driver.listSnapshots(pool, volume)).includes(snapshot)) return;
    throw errors.exists(`snapshot of ${volume.type} volume ${volume.name} in pool ${poolOf}`, snapshot);
  }

  /** The driver of a pool and what it calls the pool, for work on volumes and snapshots. */
  use(poolOf: string): { readonly driver: StorageDriver; readonly pool: PoolSpec } {
    return this.#open(poolOf);
  }

  /** Where to take a volume, or its snapshot, from when it is copied into `to`. */
  copySource(from: string, volume: VolumeRef, snapshot: string | undefined, to: string): CopySource {
    if (from === to) return { kind: 'copy', from: volume, ...(snapshot === undefined ? {} : { snapshot }) };
    const { driver, pool } = this.#open(from);
    const path =
      snapshot === undefined ? driver.volumePath(pool, volume) : driver.snapshotPath(pool, { volume, snapshot });
    return { kind: 'tree', path };
  }

  /** Drops the unpacked copies of an image from every pool. */
  async forgetImage(fingerprint: string): Promise<void> {
    for (const { name } of this.#deps.records.pools.list()) {
      // A pool being deleted takes its image volumes with it; both at once would get into each other's way.
      await this.#deps.locks.run(lockOf(name), async () => {
        if (this.#deps.records.pools.has(name)) await this.deleteVolume(name, { type: 'image', name: fingerprint });
      });
    }
  }

  usedBy(name: string): readonly string[] {
    const { profiles, volumes } = this.#deps.records;
    return [
      ...containersWith(this.#deps.records, 'pool', name).map((entry) => containerUrl(entry.name)),
      ...profiles
        .list()
        .filter(({ document }) => devicePools(document.devices).includes(name))
        .map((entry) => `/1.0/profiles/${encodeURIComponent(entry.name)}`),
      ...volumes
        .list()
        .filter((entry) => entry.name.startsWith(`${name}/`))
        .map((entry) => `${urlOf(name)}/volumes/custom/${encodeURIComponent(entry.name.slice(name.length + 1))}`),
    ];
  }

  #createSaga(): Saga<PoolParams> {
    return {
      kind: 'pool-create',
      onRestart: 'unwind',
      begin: (changes, { name, document }) => changes.put('pools', name, { ...document, lifecycle: 'creating' }),
      steps: [
        {
          name: 'pool',
          execute: ({ name, document }, context) =>
            this.#driver(document).createPool(poolSpec(name, document), context.signal),
          undo: ({ name, document }) => this.#driver(document).deletePool(poolSpec(name, document)),
        },
      ],
      commit: (changes, { name, document }) => changes.put('pools', name, document),
      rollBack: (changes, { name }) => {
        if (this.#deps.records.pools.has(name)) changes.delete('pools', name);
      },
    };
  }

  #deleteSaga(): Saga<PoolParams> {
    return {
      kind: 'pool-delete',
      onRestart: 'finish',
      begin: (changes, { name, document }) => {
        this.#refuseUsed(name);
        changes.claim('pools', name);
        changes.put('pools', name, { ...document, lifecycle: 'deleting' });
      },
      steps: [
        {
          name: 'pool',
          execute: ({ name, document }) => this.#driver(document).deletePool(poolSpec(name, document)),
          undo: () => Promise.resolve(),
        },
      ],
      commit: (changes, { name }) => {
        if (this.#deps.records.pools.has(name)) changes.delete('pools', name);
      },
      rollBack: (changes, { name, document }) => changes.put('pools', name, { ...document, lifecycle: 'ready' }),
    };
  }

  #run(saga: Saga<PoolParams>, params: PoolParams): Promise<void> {
    return this.#deps.sagas.run(saga, params, { signal: new AbortController().signal, progress: () => {} });
  }

  async #change(
    caller: Caller,
    name: string,
    ifMatch: string | undefined,
    next: (document: PoolDocument) => PoolDocument,
  ): Promise<void> {
    await this.#deps.locks.run(lockOf(name), async () => {
      const { document } = this.#find(name);
      checkIfMatch(ifMatch, etagOf.pool(document), 'storage pool', name);
      const wanted = next(document);
      const problems = validatePoolConfig(document.driver, wanted.config, document.config);
      if (problems.length > 0) throw errors.invalid(`storage pool ${name}`, problems);
      // The host first: what it refuses is not recorded.
      const driver = this.#driver(document);
      await driver.applyConfig(poolSpec(name, wanted));
      try {
        await this.#deps.records.retry((changes) => {
          this.#find(name);
          changes.put('pools', name, wanted);
        });
      } catch (error) {
        await driver.applyConfig(poolSpec(name, document)).catch((again: unknown) => {
          this.#deps.log.error(`Taking back the change of pool ${name} failed: ${errorText(again)}`);
        });
        throw error;
      }
    });
    this.#deps.events.lifecycle('storage-pool-updated', urlOf(name), undefined, caller.requestor);
  }

  /** A pool in, around or at the place of another would be deleted with it. */
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

  /** They go with their containers, so nothing else waits for them. */
  #snapshotsIn(name: string): readonly string[] {
    const { containers } = this.#deps.records;
    return containers
      .list()
      .filter(({ document }) => document.pool === name)
      .flatMap((entry) =>
        ownedBy(this.#deps.records, 'snapshots', entry.document.uuid).map(
          (one) => `${containerUrl(entry.name)}/snapshots/${encodeURIComponent(one.name)}`,
        ),
      );
  }

  #refuseUsed(name: string): void {
    const users = this.usedBy(name);
    if (users.length > 0) throw errors.inUse('storage pool', name, users);
  }

  #find(name: string): Entry<PoolDocument> {
    const entry = this.#deps.records.pools.get(name);
    if (entry === undefined) throw errors.notFound('storage pool', name);
    return entry;
  }

  #open(name: string): {
    readonly driver: StorageDriver;
    readonly pool: { name: string; driver: string; config: Record<string, string> };
  } {
    const { document } = this.#find(name);
    return { driver: this.#driver(document), pool: poolSpec(name, document) };
  }

  #driver(document: PoolDocument): StorageDriver {
    return this.#availableDriver(document.driver);
  }

  #availableDriver(name: string): StorageDriver {
    const driver = Object.hasOwn(this.#deps.drivers, name) ? this.#deps.drivers[name] : undefined;
    if (driver !== undefined) return driver;
    const available = Object.keys(this.#deps.drivers).join(', ');
    if ((poolDrivers as readonly string[]).includes(name)) {
      const missing = this.#deps.missing?.[name];
      const why = missing === undefined ? '' : `: ${missing}`;
      throw errors.badRequest(
        `The storage driver ${name} is not available on this server (available: ${available})${why}`,
        [{ path: 'driver', message: missing ?? `available here: ${available}` }],
      );
    }
    const near = nearestName(name, poolDrivers);
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    throw errors.invalid('storage pool', [
      { path: 'driver', message: `${JSON.stringify(name)} is not a storage driver${hint}` },
    ]);
  }

  async #render({ name, document }: Entry<PoolDocument>): Promise<StoragePool> {
    const images = await this.#imagesIn(name, document);
    return {
      name,
      description: document.description,
      driver: document.driver,
      config: { ...document.config },
      status: document.lifecycle === 'ready' ? 'Created' : 'Pending',
      locations: ['none'],
      used_by: [...this.usedBy(name), ...this.#snapshotsIn(name), ...images],
    };
  }

  /** Those that the pool has unpacked. They do not keep it from being deleted: they go with it. */
  async #imagesIn(name: string, document: PoolDocument): Promise<readonly string[]> {
    const driver = this.#deps.drivers[document.driver];
    if (driver === undefined || document.lifecycle !== 'ready') return [];
    const volumes = await driver.listVolumes(poolSpec(name, document)).catch(() => []);
    return volumes
      .filter(({ type, name: fingerprint }) => type === 'image' && this.#deps.records.images.has(fingerprint))
      .map((image) => `/1.0/images/${image.name}`);
  }
}

function poolSpec(
  name: string,
  document: PoolDocument,
): { name: string; driver: string; config: Record<string, string> } {
  return { name, driver: document.driver, config: { ...document.config } };
}

function isInside(directory: string, path: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}
