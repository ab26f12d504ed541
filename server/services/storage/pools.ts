// The storage pools of this host and their contents: drivers, volumes and snapshots, for other services.
import type { ServiceParts } from '../shared/service-parts.ts';
import { DriverError } from '../../drivers/driver-error.ts';
import type { EntryLimits } from '../../drivers/image/check-entries.ts';
import type {
  PoolResources,
  PoolSpec,
  SnapshotRef,
  SnapshotSource,
  StorageDriver,
  VolumeRef,
  VolumeSource,
} from '../../drivers/storage/driver.ts';
import { poolDrivers } from '../../api/storage/pool.ts';
import { errors, mustFind } from '../../api/errors.ts';
import { hint } from '../../api/text/nearest-word.ts';
import type { PoolDocument } from '../../records/documents.ts';
import type { Entry } from '../../records/records.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface PoolsDeps extends Pick<ServiceParts, 'records' | 'locks' | 'log'> {
  readonly drivers: Readonly<Record<string, StorageDriver>>;
  /** Why this host lacks other drivers, by driver name. */
  readonly missing?: Readonly<Record<string, string>>;
}

type CopySource = Extract<VolumeSource, { kind: 'copy' | 'tree' }>;

type Place = readonly [pool: string, volume: VolumeRef];

/** Max entries of one incoming part: each costs memory while it is checked. */
const maxEntries = 4_000_000;

/** Runs `use` while the files of the volume or snapshot at the path are mounted. */
export const filesAt = <T>(driver: StorageDriver, path: string, use: () => Promise<T>): Promise<T> =>
  driver.withFiles === undefined ? use() : driver.withFiles(path, use);

export const poolLock = (name: string): string => `pool/${name}`;

export const poolSpec = (name: string, { driver, config }: PoolDocument): PoolSpec => ({
  name,
  driver,
  config: { ...config },
});

export class Pools {
  readonly #deps: PoolsDeps;

  constructor(deps: PoolsDeps) {
    this.#deps = deps;
  }

  drivers(): readonly string[] {
    return Object.keys(this.#deps.drivers).toSorted();
  }

  /** Driver names of existing pools, for the server's environment. */
  driversInUse(): readonly string[] {
    return [...new Set(this.#deps.records.pools.list().map((entry) => entry.document.driver))].sort();
  }

  volumePath(poolOf: string, volume: VolumeRef): string {
    const { driver, pool } = this.use(poolOf);
    return driver.volumePath(pool, volume);
  }

  /** Throws if files exist at the volume's place: without a record they are not ours. */
  async refuseVolume(poolOf: string, volume: VolumeRef): Promise<void> {
    const { driver, pool } = this.use(poolOf);
    if (await driver.hasVolume(pool, volume)) throw errors.exists(`${volume.type} volume`, volume.name);
  }

  /** Idempotent, for sagas: an existing volume counts as made before; see `refuseVolume`. */
  async createVolume(
    poolOf: string,
    volume: VolumeRef,
    source: VolumeSource,
    progress: (text: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { driver, pool } = this.use(poolOf);
    await this.#readable(source, () => driver.createVolume(pool, volume, source, progress, signal)).catch(unlessExists);
  }

  async deleteVolume(poolOf: string, volume: VolumeRef): Promise<void> {
    const { driver, pool } = this.use(poolOf);
    await driver.deleteVolume(pool, volume);
  }

  async renameVolume(poolOf: string, volume: VolumeRef, newName: string): Promise<void> {
    const { driver, pool } = this.use(poolOf);
    await driver.renameVolume(pool, volume, newName);
  }

  /** Takes back `renameVolume` with the same arguments. One that did not begin, because the new name is taken or the volume is lost, has
   *  nothing to take back. */
  async renameVolumeBack(poolOf: string, volume: VolumeRef, newName: string): Promise<void> {
    const { driver, pool } = this.use(poolOf);
    const renamed = { ...volume, name: newName };
    const [isHere, isThere] = [await driver.hasVolume(pool, volume), await driver.hasVolume(pool, renamed)];
    if (isHere === isThere) return;
    await driver.renameVolume(pool, renamed, volume.name);
  }

  /** Whether the original of a move is being removed, or is gone. Its copy is complete then, and only a complete one may replace it. */
  async hasLeft(from: Place, to: Place, snapshots: readonly string[]): Promise<boolean> {
    const has = ([poolOf, volume]: Place): Promise<boolean> => {
      const { driver, pool } = this.use(poolOf);
      return driver.hasVolume(pool, volume);
    };
    const hasAll = async ([poolOf, volume]: Place): Promise<boolean> => {
      const { driver, pool } = this.use(poolOf);
      const names = await driver.listSnapshots(pool, volume);
      return snapshots.every((name) => names.includes(name));
    };
    if (!(await has(from))) return true;
    return !(await hasAll(from)) && (await has(to)) && (await hasAll(to));
  }

  async renameSnapshot(poolOf: string, snapshot: SnapshotRef, newName: string): Promise<void> {
    const { driver, pool } = this.use(poolOf);
    await driver.renameSnapshot(pool, snapshot, newName);
  }

  /** Like `renameVolumeBack`. */
  async renameSnapshotBack(poolOf: string, { volume, snapshot }: SnapshotRef, newName: string): Promise<void> {
    const { driver, pool } = this.use(poolOf);
    const names = await driver.listSnapshots(pool, volume);
    if (names.includes(snapshot) === names.includes(newName)) return;
    await driver.renameSnapshot(pool, { volume, snapshot: newName }, snapshot);
  }

  /** A step of a saga, idempotent like createVolume. */
  async createSnapshot(
    poolOf: string,
    snapshot: SnapshotRef,
    source: SnapshotSource,
    signal: AbortSignal,
  ): Promise<void> {
    const { driver, pool } = this.use(poolOf);
    await this.#readable(source, () => driver.createSnapshot(pool, snapshot, source, signal)).catch(unlessExists);
  }

  /** Runs `use` while the files of a tree in another pool are mounted, with any driver. */
  async #readable(source: VolumeSource | SnapshotSource, use: () => Promise<void>): Promise<void> {
    if (source.kind !== 'tree') return use();
    const within = Object.values(this.#deps.drivers).reduce(
      (inner, driver) => () => filesAt(driver, source.path, inner),
      use,
    );
    return within();
  }

  /** Files without a record: not ours to use, or to remove when a creation is undone. */
  async refuseSnapshot(poolOf: string, { volume, snapshot }: SnapshotRef): Promise<void> {
    const { driver, pool } = this.use(poolOf);
    if (!(await driver.listSnapshots(pool, volume)).includes(snapshot)) return;
    throw errors.exists(`snapshot of ${volume.type} volume ${volume.name} in pool ${poolOf}`, snapshot);
  }

  /** The driver of a pool and its description of the pool, for work on volumes and snapshots. */
  use(name: string): { readonly driver: StorageDriver; readonly pool: PoolSpec } {
    const { document } = this.find(name);
    return { driver: this.driver(document.driver), pool: poolSpec(name, document) };
  }

  find(name: string): Entry<PoolDocument> {
    return mustFind(this.#deps.records.pools.get(name), 'storage pool', name);
  }

  /** Whether volume limits are effective in it; unknown pools are checked elsewhere. */
  canLimit(name: string): boolean {
    if (!this.#deps.records.pools.has(name)) return true;
    const { driver, pool } = this.use(name);
    return driver.canLimit?.(pool) ?? driver.capabilities.quotas;
  }

  /** Bytes that a volume takes; undefined if unknown without reading it. */
  async usedBytes(name: string, volume: VolumeRef): Promise<number | undefined> {
    const { driver, pool } = this.use(name);
    return driver.usedBytes?.(pool, volume);
  }

  async resources(name: string): Promise<PoolResources> {
    const { driver, pool } = this.use(name);
    return driver.resources(pool);
  }

  /** Limits for incoming archives. */
  async room(name: string): Promise<EntryLimits> {
    const { space, inodes } = await this.resources(name);
    const entries = inodes.total === 0 ? maxEntries : Math.min(maxEntries, inodes.total - inodes.used);
    return { bytes: space.total - space.used, entries, in: `pool ${name}` };
  }

  async listVolumes(name: string): Promise<readonly VolumeRef[]> {
    const { driver, pool } = this.use(name);
    return driver.listVolumes(pool);
  }

  copySource(from: string, volume: VolumeRef, snapshot: string | undefined, to: string): CopySource {
    if (from === to) return { kind: 'copy', from: volume, ...withoutUndefined({ snapshot }) };
    const { driver, pool } = this.use(from);
    const path =
      snapshot === undefined ? driver.volumePath(pool, volume) : driver.snapshotPath(pool, { volume, snapshot });
    return { kind: 'tree', path };
  }

  /** Deletes the unpacked copies of an image from every pool. */
  async forgetImage(fingerprint: string): Promise<void> {
    for (const { name } of this.#deps.records.pools.list()) {
      // A pool's deletion also deletes its image volumes; the two would conflict.
      await this.#deps.locks.run(poolLock(name), async () => {
        if (this.#deps.records.pools.has(name)) await this.deleteVolume(name, { type: 'image', name: fingerprint });
      });
    }
  }

  /** Throws the reason if this host has no such driver. */
  driver(name: string): StorageDriver {
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
    const message = `${JSON.stringify(name)} is not a storage driver${hint(name, poolDrivers)}`;
    throw errors.invalid('storage pool', [{ path: 'driver', message }]);
  }
}

function unlessExists(error: unknown): void {
  if (!(error instanceof DriverError && error.code === 'Exists')) throw error;
}
