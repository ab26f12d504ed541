// Finds the pools of a host that may have lost its records, and reads their contents. Mounts pools; changes nothing in them.
import type { PoolSpec, StorageDriver, VolumeRef } from '../../drivers/storage/driver.ts';
import { driverErrors } from '../../drivers/driver-error.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { PoolDocument } from '../../records/documents.ts';
import type { Records } from '../../records/records.ts';
import { poolSpec, type Pools } from '../storage/pools.ts';
import { readCopies } from './copy-files.ts';
import { copiedKinds, poolsWithCopies } from './copied-records.ts';
import type { KnownPools } from './known-pools.ts';
import type { PoolContent } from './plan-recovery.ts';

export interface FindPoolsDeps {
  readonly records: Records;
  readonly pools: Pick<Pools, 'driver' | 'find'>;
  readonly knownPools: KnownPools;
}

export interface FoundPool {
  readonly spec: PoolSpec;
  readonly driver: StorageDriver;
}

type Say = (problem: string) => void;

/** Pools of the records, those requested (an error if one is missing), those listed in the state directory, and those that another pool's
 *  copies name. */
export async function findPools(
  deps: FindPoolsDeps,
  asked: readonly PoolSpec[],
  say: Say,
): Promise<ReadonlyMap<string, FoundPool>> {
  const { records, knownPools, pools } = deps;
  const found = new Map<string, FoundPool>();
  for (const name of poolsWithCopies(records)) {
    const { document } = pools.find(name);
    found.set(name, { spec: poolSpec(name, document), driver: pools.driver(document.driver) });
  }
  for (const spec of asked) found.set(spec.name, await openPool(deps, spec));
  const queue = new Map<string, PoolDocument>(await knownPools.all());
  const addKnown = async (each: FoundPool): Promise<void> => {
    for (const [name, document] of await poolsKnownTo(each)) queue.set(name, document);
  };
  for (const each of found.values()) await addKnown(each);
  // Also visits entries added during the loop.
  for (const [name, document] of queue) {
    if (found.has(name) || records.pools.has(name)) continue;
    try {
      const pool = await openPool(deps, poolSpec(name, document));
      found.set(name, pool);
      await addKnown(pool);
    } catch (error) {
      say(`The storage pool ${name} cannot be recovered: ${errorText(error)}`);
    }
  }
  return found;
}

/** Throws NotFound if there is no pool of that name. */
async function openPool({ pools }: FindPoolsDeps, asked: PoolSpec): Promise<FoundPool> {
  const driver = pools.driver(asked.driver);
  const spec = { ...asked, config: await driver.findPool(asked) };
  await driver.mountPool(spec);
  const names = (await poolsIn({ spec, driver })).map(({ record }) => record.name);
  if (names.includes(asked.name)) return { spec, driver };
  const others = names.length === 0 ? 'no pool has left its records there' : `it has records of ${names.join(', ')}`;
  throw driverErrors.notFound(`there is no pool ${asked.name} at ${spec.config['source'] ?? 'its place'}: ${others}`);
}

const poolsIn = ({ spec, driver }: FoundPool) => readCopies(driver.recordsPath(spec), 'pools', () => {});

async function poolsKnownTo(pool: FoundPool): Promise<readonly (readonly [string, PoolDocument])[]> {
  const copies = await poolsIn(pool).catch(() => []);
  return copies.flatMap(({ record }) => (record.kind === 'pools' ? [[record.name, record.document] as const] : []));
}

export async function contentOf({ spec, driver }: FoundPool, say: Say): Promise<PoolContent> {
  const directory = driver.recordsPath(spec);
  const copies = [];
  for (const kind of copiedKinds) copies.push(...(await readCopies(directory, kind, say)));
  const volumes = await driver.listVolumes(spec);
  const of = async (type: VolumeRef['type']): Promise<ReadonlyMap<string, readonly string[]>> => {
    const wanted = volumes.filter((volume) => volume.type === type);
    const entries = wanted.map(async (volume) => [volume.name, await driver.listSnapshots(spec, volume)] as const);
    return new Map(await Promise.all(entries));
  };
  return { pool: spec.name, copies, containers: await of('container'), custom: await of('custom') };
}
