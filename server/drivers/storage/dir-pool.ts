// Makes, recovers and empties the directory that a pool of directory trees keeps its volumes in; the volumes are trees/driver.ts.
import { chmod, lstat, mkdir, readdir, realpath, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode } from '../../lib/shared/error-code.ts';
import { syncDirectory } from '../../lib/durable-files.ts';
import { type DriverError, driverErrors } from '../driver-error.ts';
import {
  isInside,
  poolFolders,
  recordsFolder,
  replacedFolder,
  replacedVolume,
  temporaryFolder,
  volumeFolder,
  volumePathIn,
} from './layout.ts';
import { removeTree } from './remove-tree.ts';
import { checkMarker, readMarker, type wantedMarker, writeMarker } from './shared-place.ts';

/** Removes a volume or any other entry at the path; succeeds if there is none. */
export type RemoveVolume = (path: string) => Promise<void>;

/** Idempotent: a directory with only our own empty folders already counts as a pool. */
export async function createDirPool(root: string, source: string, name: string): Promise<void> {
  const isOwn = source === join(root, name);
  if (isOwn) await mkdir(source, { recursive: true, mode: 0o711 });
  await checkPlace(root, source, name, isOwn);
  await takePlace(source, name);
}

/** `isFirst`: no other member has the pool yet. Else the directory must be that of the others. */
export async function createSharedPool(
  root: string,
  source: string,
  name: string,
  marker: ReturnType<typeof wantedMarker>,
  isFirst: boolean,
): Promise<void> {
  await checkPlace(root, source, name, source === join(root, name));
  if (isFirst && (await readMarker(source)) === undefined) {
    await takePlace(source, name);
    await writeMarker(source, marker);
  }
  await checkMarker(source, name, marker);
}

async function takePlace(source: string, name: string): Promise<void> {
  const foreign = await foreignContent(source);
  if (foreign !== undefined)
    throw driverErrors.inUse(`config.source: ${source} of pool ${name} is not empty: it has ${foreign} in it`);
  await makeFolders(source);
  for (const path of [source, dirname(source)]) await syncDirectory(path);
}

/** Throws NotFound unless an earlier daemon has made the directory a pool. Changes nothing. */
export async function checkDirPool(source: string, name: string): Promise<void> {
  const stats = await lstat(join(source, recordsFolder)).catch(() => undefined);
  if (stats?.isDirectory() === true) return;
  throw driverErrors.notFound(`there is no pool ${name} in ${source}: it has no directory ${recordsFolder}`);
}

/** Images go with their pool; other volumes must have been deleted. The directory itself stays. */
export async function emptyDirPool(source: string, name: string, remove: RemoveVolume): Promise<void> {
  for (const folder of [volumeFolder('container'), volumeFolder('custom')]) {
    const [first] = await namesIn(join(source, folder));
    if (first !== undefined) throw driverErrors.inUse(`pool ${name} still has the volume ${folder}/${first}`);
  }
  try {
    for (const folder of poolFolders) {
      for (const entry of await namesIn(join(source, folder))) await remove(join(source, folder, entry));
      await removeTree(join(source, folder));
    }
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw driverErrors.failed(`cannot delete the directory ${source} of pool ${name}`, error);
  }
}

/** Throws Failed for a directory without any folder of a pool, as the mount point of a missing disk is: a use would hide what the disk has.
 *  Removes what a crash left half made or half deleted, apart from what is `busy` in this process, and puts back what a restore
 *  had taken out of its place. `isOurs`: whether an entry is of this host, where others use the directory, too. */
export async function mountDirPool(
  source: string,
  name: string,
  busy: ReadonlySet<string>,
  remove: RemoveVolume,
  isOurs: (entry: string) => boolean = () => true,
): Promise<void> {
  const stats = await lstat(source).catch((error: unknown) => {
    throw driverErrors.failed(`cannot use the directory ${source} of pool ${name}`, error);
  });
  if (!stats.isDirectory()) throw driverErrors.failed(`${source} of pool ${name} is not a directory`);
  if (!(await readdir(source)).some((entry) => poolFolders.includes(entry)))
    throw driverErrors.failed(
      `${source} of pool ${name} has nothing of the pool: mount its file system there; if its files are lost, make the folder ${join(source, recordsFolder)}, and the pool is empty`,
    );
  await makeFolders(source);
  const temporary = (await namesIn(join(source, temporaryFolder))).filter(isOurs);
  const leftovers = [
    ...(await putBack(source, busy, isOurs)),
    ...temporary.map((entry) => join(source, temporaryFolder, entry)),
  ];
  const failures: DriverError[] = [];
  for (const path of leftovers) {
    if (busy.has(path)) continue;
    await remove(path).catch((error: unknown) => {
      failures.push(driverErrors.failed(`cannot remove the leftover ${path} of pool ${name}`, error));
    });
  }
  const [failure] = failures;
  if (failure !== undefined) throw failure;
}

/** Ends a restore that a crash interrupted: the old volume returns to its place, or is a leftover if the new one is in place. */
async function putBack(
  source: string,
  busy: ReadonlySet<string>,
  isOurs: (entry: string) => boolean,
): Promise<readonly string[]> {
  const leftovers: string[] = [];
  for (const entry of (await namesIn(join(source, replacedFolder))).filter(isOurs)) {
    const path = join(source, replacedFolder, entry);
    if (busy.has(path)) continue;
    const volume = replacedVolume(entry);
    const place = volume === undefined ? undefined : volumePathIn(source, volume);
    const isFree =
      place !== undefined &&
      (await lstat(place).then(
        () => false,
        (error) => hasCode(error, 'ENOENT'),
      ));
    if (isFree) await rename(path, place);
    else leftovers.push(path);
  }
  return leftovers;
}

async function checkPlace(root: string, source: string, name: string, isOwn: boolean): Promise<void> {
  const stats = await lstat(source).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
    throw driverErrors.invalid(`config.source: ${source} of pool ${name} does not exist; create the directory first`);
  });
  if (!stats.isDirectory())
    throw driverErrors.invalid(`config.source: ${source} of pool ${name} is not a directory (links are not followed)`);
  const [real, realState] = [await realpath(source), await realpath(dirname(root)).catch(() => dirname(root))];
  if (!isOwn && isInside(realState, real))
    throw driverErrors.invalid(`config.source: ${source} of pool ${name} leads into the state of the daemon`);
}

/** The entries of the directory, without our own empty folders. */
export async function foreignContent(source: string): Promise<string | undefined> {
  for (const entry of await readdir(source)) {
    if (!poolFolders.includes(entry)) return entry;
    const [inside] = await namesIn(join(source, entry));
    if (inside !== undefined) return `${entry}/${inside}`;
  }
  return undefined;
}

/** Creates the folders of layout.ts; only the daemon can list them. */
export async function makeFolders(source: string): Promise<void> {
  await chmod(source, 0o711);
  for (const folder of poolFolders) {
    // Volumes of containers and images are closed themselves. Custom ones are open to their containers and hold real setuid-root
    // files: nobody of the host passes through to them.
    const mode = folder === volumeFolder('container') || folder === volumeFolder('image') ? 0o711 : 0o700;
    await mkdir(join(source, folder), { mode }).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw driverErrors.failed(`cannot make ${folder} in ${source}`, error);
    });
    if (mode === 0o700) await chmod(join(source, folder), mode);
  }
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    if (hasCode(error, 'ENOTDIR')) return ['(not a directory)'];
    throw error;
  });
}
