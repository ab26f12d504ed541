// Volumes as datasets of the dataset of a pool. A copy, and a snapshot, is a clone; what has clones is kept aside when it is deleted.
import { randomUUID } from 'node:crypto';
import { exec, ExecError } from '../../../lib/exec.ts';
import { DriverError, driverErrors } from '../../driver-error.ts';
import type { PoolSpec } from '../driver.ts';
import { volumeFolder } from '../layout.ts';
import { patiently } from '../mounted/mounts.ts';
import type { StoredTree, TreeStore } from '../mounted/store.ts';
import {
  commands,
  datasetsIn,
  leftSnapshots,
  namedIn,
  saysBusy,
  saysExists,
  saysFull,
  saysHasClones,
  saysMissing,
  withoutClones,
  type Dataset,
} from './commands.ts';
import { sealed, stillProperty } from './moments.ts';
import { datasetName, deletedFolder, idOf, idProperty, idText } from './names.ts';

const longMs = 600_000;

/** Snapshots that are being cloned. */
const inUse = new Set<string>();

export interface TreeDataset extends StoredTree {
  readonly dataset: Dataset;
}

export const datasetOf = ({ name, config }: Pick<PoolSpec, 'name' | 'config'>): string =>
  config['zfs.pool_name'] || name;

export const datasetFor = (pool: PoolSpec, id: string): string => `${datasetOf(pool)}/${datasetName(id)}`;

export async function runZfs(argv: readonly string[], what: string): Promise<string> {
  try {
    return (await exec(argv, { timeoutMs: longMs, maxBytes: 64 * 1_048_576 })).stdout;
  } catch (error) {
    throw asZfsError(what, error);
  }
}

export function asZfsError(what: string, error: unknown): unknown {
  if (!(error instanceof ExecError)) return error;
  const { stderr } = error;
  if (saysFull(stderr)) return driverErrors.noSpace(`${what}: no space is left`, error);
  if (saysBusy(stderr)) return driverErrors.inUse(`${what}: something on the host uses it`, error);
  if (saysMissing(stderr)) return driverErrors.notFound(`${what}: it is not there`, error);
  if (saysExists(stderr)) return driverErrors.exists(`${what}: it exists`, error);
  return driverErrors.failed(what, error);
}

/** `undefined` in place of an error with that code. */
export async function unless(code: DriverError['code'], work: Promise<string>): Promise<string | undefined> {
  return work.catch((error: unknown) => {
    if (error instanceof DriverError && error.code === code) return undefined;
    throw error;
  });
}

export async function findDataset(name: string): Promise<Dataset | undefined> {
  const shown = await unless('NotFound', runZfs(commands.list(name, 0), `cannot read the dataset ${name}`));
  return shown === undefined ? undefined : datasetsIn(shown)[0];
}

export async function datasetsBelow(name: string, depth?: number): Promise<readonly Dataset[]> {
  const shown = await runZfs(commands.list(name, depth), `cannot list the datasets of ${name}`);
  return datasetsIn(shown).filter((dataset) => dataset.name !== name);
}

/** A volume that does not change once it is there has one snapshot, and all its copies are clones of that. */
const isSealed = (id: string): boolean => id.startsWith(`${volumeFolder('image')}/`) || /^[a-z]+-snapshots\//.test(id);

export const zfsStore: TreeStore<TreeDataset> = {
  async list(pool) {
    const root = datasetOf(pool);
    return (await datasetsBelow(root, 2)).flatMap((dataset) => {
      const id = idOf(dataset.name.slice(root.length + 1), dataset.ids);
      return id === undefined ? [] : [{ id, dataset }];
    });
  },
  has: async (pool, id) => (await findDataset(datasetFor(pool, id))) !== undefined,
  async rename(pool, from, to) {
    const [source, target] = [datasetFor(pool, from), datasetFor(pool, to)];
    // The name is the one step: an id that does not fit it is nothing.
    if (idText(to) !== undefined) {
      const before = (await findDataset(source))?.ids;
      await runZfs(commands.set(source, { [idProperty]: idText(to, before) ?? '' }), `cannot rename ${from}`);
    }
    await patiently(() => runZfs(commands.rename(source, target), `cannot rename ${from} to ${to}`), isBusy);
  },
  async remove(pool, id) {
    const dataset = datasetFor(pool, id);
    const what = `cannot delete the dataset ${dataset}`;
    try {
      await patiently(() => exec(commands.remove(dataset), { timeoutMs: longMs }), isBusy);
    } catch (error) {
      if (!(error instanceof ExecError)) throw error;
      if (saysHasClones(error.stderr)) await bury(pool, dataset, what);
      else if (!saysMissing(error.stderr)) throw asZfsError(what, error);
    }
    await sweep(pool);
  },
};

const isBusy = (error: unknown): boolean =>
  error instanceof ExecError ? saysBusy(error.stderr) : error instanceof DriverError && error.code === 'InUse';

/** An empty one. */
export async function makeDataset(pool: PoolSpec, id: string): Promise<void> {
  await runZfs(commands.make(datasetFor(pool, id), idValues(id)), `cannot make a dataset in ${datasetOf(pool)}`);
}

export const idValues = (id: string): Record<string, string> => {
  const text = idText(id);
  return text === undefined ? {} : { [idProperty]: text };
};

interface CloneForm {
  /** Nothing is ever written to it. */
  readonly isStill?: boolean;
  /** The command that takes the snapshot, while nothing writes. */
  readonly atRest?: (command: readonly string[]) => readonly string[];
}

/** As `from` is at one moment. */
export async function cloneDataset(
  pool: PoolSpec,
  from: string,
  to: string,
  { isStill = false, atRest = (command) => command }: CloneForm = {},
): Promise<void> {
  const [source, target] = [datasetFor(pool, from), datasetFor(pool, to)];
  const what = `cannot copy ${from}`;
  const clone = (snapshot: string): Promise<string> =>
    runZfs(commands.clone(snapshot, target, { ...idValues(to), ...(isStill ? { [stillProperty]: 'yes' } : {}) }), what);
  if (isSealed(from)) {
    const snapshot = `${source}@${sealed}`;
    if ((await unless('NotFound', clone(snapshot))) !== undefined) return;
    await unless('Exists', runZfs(commands.snapshot(snapshot), what));
    await clone(snapshot);
    return;
  }
  const snapshot = `${source}@${randomUUID()}`;
  inUse.add(snapshot);
  try {
    await runZfs(atRest(commands.snapshot(snapshot)), what);
    try {
      await clone(snapshot);
    } finally {
      await runZfs(commands.removeLater(snapshot), what);
    }
  } finally {
    inUse.delete(snapshot);
  }
}

/** Only what clones need of it is kept. */
async function bury(pool: PoolSpec, dataset: string, what: string): Promise<void> {
  const grave = `${datasetOf(pool)}/${deletedFolder}/${randomUUID()}`;
  await patiently(() => runZfs(commands.rename(dataset, grave), what), isBusy);
  const snapshots = namedIn(await runZfs(commands.names(grave), what)).filter(({ name }) => name.includes('@'));
  for (const { name } of snapshots) await unless('NotFound', runZfs(commands.removeLater(name), what));
  const last = snapshots.findLast(({ hasClones }) => hasClones);
  // What was written after it is in no clone. Its last clone may have gone meanwhile, and the snapshot with it.
  if (last !== undefined) await unless('NotFound', runZfs(commands.rollBack(last.name), what));
}

/** Deleted volumes go when their last clone has gone; one that goes may have been the last clone of another. */
export async function sweep(pool: PoolSpec): Promise<void> {
  const folder = `${datasetOf(pool)}/${deletedFolder}`;
  for (;;) {
    const shown = await unless('NotFound', runZfs(commands.names(folder), `cannot list ${folder}`));
    const free = withoutClones(folder, namedIn(shown ?? ''));
    if (free.length === 0) return;
    for (const dataset of free)
      await unless('NotFound', runZfs(commands.remove(dataset), `cannot delete the dataset ${dataset}`));
  }
}

/** After a crash. */
export async function sweepSnapshots(pool: PoolSpec): Promise<void> {
  const all = namedIn(await runZfs(commands.names(datasetOf(pool)), `cannot list the snapshots of ${datasetOf(pool)}`));
  for (const snapshot of leftSnapshots(all).filter((each) => !inUse.has(each)))
    await unless('NotFound', runZfs(commands.removeLater(snapshot), `cannot delete the snapshot ${snapshot}`));
  await sweep(pool);
}
