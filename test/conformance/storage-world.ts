// The pools that the tests of all storage drivers use.
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { DriverError, type DriverErrorCode } from '../../server/drivers/driver-error.ts';
import type {
  ImageFiles,
  PoolSpec,
  StorageDriver,
  VolumeRef,
  VolumeSource,
} from '../../server/drivers/storage/driver.ts';

export interface StorageFixture {
  readonly storage: StorageDriver;
  /** A pool that does not exist yet; another one at each call. */
  readonly newPool: () => PoolSpec;
  /** Pools are slow to make: those of earlier tests are emptied and reused, with their images. */
  readonly reusesPools?: boolean;
  /** Clients learn of the use by others seconds later, and refuse writes no sooner (CephFS). */
  readonly limitsLate?: boolean;
  /** The file system counts holes of a file as blocks (CephFS). */
  readonly hidesHoles?: boolean;
  readonly image: ImageFiles;
  /** A file of the image's root file system, and what is in it. */
  readonly imageFile: { readonly path: string; readonly content: string };
  /** How often the driver has unpacked an image so far. */
  readonly unpacked: () => number;
  readonly close: () => Promise<void>;
}

export const never: AbortSignal = new AbortController().signal;
export const container = (name: string): VolumeRef => ({ type: 'container', name });
export const custom = (name: string): VolumeRef => ({ type: 'custom', name });

export async function codeOf(work: Promise<unknown>): Promise<DriverErrorCode | 'none'> {
  try {
    await work;
    return 'none';
  } catch (error) {
    if (error instanceof DriverError) return error.code;
    throw error;
  }
}

export interface StorageWorld {
  readonly fixture: StorageFixture;
  readonly storage: StorageDriver;
  make(this: void, pool: PoolSpec, volume: VolumeRef, source: VolumeSource, signal?: AbortSignal): Promise<void>;
  fromImage(this: void): VolumeSource;
  /** A pool that no other test has used. */
  freshPool(this: void): Promise<PoolSpec>;
  /** An empty pool, perhaps of an earlier test. */
  madePool(this: void): Promise<PoolSpec>;
  /** Snapshots of some drivers are mounted only while in use. */
  filesAt<T>(this: void, path: string, use: () => Promise<T>): Promise<T>;
  /** `TYPE/NAME` of each volume, but images that an earlier test left. */
  namesOf(this: void, pool: PoolSpec): Promise<readonly string[]>;
}

/** For the tests of the enclosing `describe`. */
export function storageWorld(open: () => Promise<StorageFixture>): StorageWorld {
  let fixture: StorageFixture;
  let storage: StorageDriver;
  beforeAll(async () => {
    fixture = await open();
    storage = fixture.storage;
  });
  afterAll(() => fixture.close());

  const make = (pool: PoolSpec, volume: VolumeRef, source: VolumeSource, signal = never): Promise<void> =>
    storage.createVolume(pool, volume, source, () => {}, signal);
  const fromImage = (): VolumeSource => ({ kind: 'image', image: fixture.image });
  const freshPool = async (): Promise<PoolSpec> => {
    const pool = fixture.newPool();
    const filled = { ...pool, config: await storage.fillConfig(pool) };
    await storage.createPool(filled, never);
    await storage.mountPool(filled);
    return filled;
  };
  const [given, spare]: [PoolSpec[], PoolSpec[]] = [[], []];
  /** They may have an earlier test's image. */
  const reused = new Set<string>();
  beforeEach(() => {
    const before = given.splice(0);
    if (fixture.reusesPools === true) spare.push(...before);
  });
  const isEmptied = async (pool: PoolSpec): Promise<boolean> => {
    try {
      for (const volume of await storage.listVolumes(pool))
        if (volume.type !== 'image') await storage.deleteVolume(pool, volume);
      // Waits for background removals.
      await storage.resources(pool);
      reused.add(pool.name);
      return true;
    } catch {
      return false;
    }
  };
  const madePool = async (): Promise<PoolSpec> => {
    let pool = spare.pop();
    while (pool !== undefined && !(await isEmptied(pool))) pool = spare.pop();
    pool ??= await freshPool();
    given.push(pool);
    return pool;
  };
  const filesAt = <T>(path: string, use: () => Promise<T>): Promise<T> =>
    storage.withFiles === undefined ? use() : storage.withFiles(path, use);
  const namesOf = async (pool: PoolSpec): Promise<readonly string[]> =>
    (await storage.listVolumes(pool))
      .filter(({ type }) => type !== 'image' || !reused.has(pool.name))
      .map((volume) => `${volume.type}/${volume.name}`)
      .toSorted();

  return {
    get fixture() {
      return fixture;
    },
    get storage() {
      return storage;
    },
    make,
    fromImage,
    freshPool,
    madePool,
    filesAt,
    namesOf,
  };
}
