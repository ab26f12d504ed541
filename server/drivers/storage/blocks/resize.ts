// Changes the size of a volume and of the file system on it. A crash at any moment leaves a mark, and a file system that fitToDevice mends.
import { ExecError } from '../../../lib/exec.ts';
import { DriverError, driverErrors } from '../../driver-error.ts';
import type { PoolSpec } from '../driver.ts';
import { saysMayNot, smallestShrunk } from './commands.ts';
import { fileSystemOn, growFileSystem, growUnmounted, shrinkFileSystem } from './mounts.ts';
import type { BlockStore } from './store.ts';

interface Place {
  readonly pool: PoolSpec;
  readonly path: string;
  readonly id: string;
}

/** Runs work while the volume is mounted at its path, or while it is not. */
export interface Mounting {
  readonly mounted: (use: () => Promise<void>) => Promise<void>;
  /** InUse while something on the host uses it. */
  readonly unmounted: (use: () => Promise<void>) => Promise<void>;
  /** For what is done after a failure, and fails too. */
  readonly failed: (what: string) => (error: unknown) => void;
}

/** Invalid when its content does not fit, or its file system cannot shrink; then nothing has changed. */
export async function resizeVolume(store: BlockStore, place: Place, wanted: number, how: Mounting): Promise<void> {
  const { pool, id } = place;
  const bytes = store.rounded(pool, wanted);
  const found = await store.find(pool, id);
  if (found === undefined) throw driverErrors.notFound(`there is no volume ${id}`);
  if (bytes === found.bytes && !found.isResizing) return;
  await (bytes >= found.bytes ? grow(store, place, bytes, how) : shrink(store, place, bytes, how));
}

async function grow(store: BlockStore, { pool, path, id }: Place, bytes: number, how: Mounting): Promise<void> {
  await store.beginResize(pool, id);
  await store.resize(pool, id, bytes);
  const device = await store.open(pool, id);
  const fileSystem = await fileSystemOn(device);
  try {
    await how.mounted(() => growFileSystem(fileSystem, device, path));
  } catch (error) {
    if (fileSystem !== 'ext4' || !(error instanceof ExecError) || !saysMayNot(error.stderr)) throw error;
    await how.unmounted(() => growUnmounted(device));
  }
  await store.endResize(pool, id);
}

async function shrink(store: BlockStore, { pool, path, id }: Place, bytes: number, how: Mounting): Promise<void> {
  const device = await store.open(pool, id);
  const fileSystem = await fileSystemOn(device);
  if (fileSystem === 'xfs')
    throw driverErrors.invalid('an xfs file system cannot be made smaller; make a smaller volume and copy the files');
  const least = smallestShrunk[fileSystem];
  if (bytes < least)
    throw driverErrors.invalid(`${bytes} bytes are too few: ${fileSystem} cannot be made smaller than ${least}`);
  const shrinkBoth = async (): Promise<void> => {
    await store.beginResize(pool, id);
    await shrinkFileSystem(fileSystem, device, path, bytes).catch(async (error: unknown) => {
      // What does not fit has not changed.
      if (error instanceof DriverError && error.code === 'Invalid')
        await store.endResize(pool, id).catch(how.failed(`Ending the change of size of ${id}`));
      throw error;
    });
    await store.resize(pool, id, bytes);
    await store.endResize(pool, id);
  };
  await (fileSystem === 'ext4' ? how.unmounted(shrinkBoth) : how.mounted(shrinkBoth));
}

/** After a change of size that a crash cut short: the file system is whole and fills what it is on, and is mounted. */
export async function fitToDevice(
  store: BlockStore,
  { pool, path, id }: Place,
  { mounted, unmounted }: Mounting,
): Promise<void> {
  const device = await store.open(pool, id);
  const fileSystem = await fileSystemOn(device);
  await (fileSystem === 'ext4'
    ? unmounted(() => growUnmounted(device))
    : mounted(() => growFileSystem(fileSystem, device, path)));
  await store.endResize(pool, id);
}
