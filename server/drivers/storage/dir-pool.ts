// Makes, mounts and removes the directory of a `dir` pool; the volumes in it are dir.ts.
import { chmod, lstat, mkdir, readdir, realpath, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DriverError } from '../driver-error.ts';
import { isInside, poolFolders, temporaryFolder, volumeFolder } from './layout.ts';
import { hasCode, removeTree } from './remove-tree.ts';

/** Idempotent: a directory that holds nothing but our own empty folders is a pool already. */
export async function createDirPool(root: string, source: string, name: string): Promise<void> {
  const isOwn = source === join(root, name);
  if (isOwn) await mkdir(source, { recursive: true, mode: 0o711 });
  await checkPlace(root, source, name, isOwn);
  const foreign = await foreignContent(source);
  if (foreign !== undefined)
    throw new DriverError('InUse', `config.source: ${source} of pool ${name} is not empty: it has ${foreign} in it`);
  await makeFolders(source);
}

/** Images go with their pool; other volumes must have been deleted. */
export async function deleteDirPool(root: string, source: string, name: string): Promise<void> {
  for (const folder of [volumeFolder('container'), volumeFolder('custom')]) {
    const [first] = await namesIn(join(source, folder));
    if (first !== undefined) throw new DriverError('InUse', `pool ${name} still has the volume ${folder}/${first}`);
  }
  try {
    for (const folder of poolFolders) await removeTree(join(source, folder));
    // A directory that the user gave stays; so does anything in it that is not ours.
    if (source === join(root, name)) await rmdir(source);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw new DriverError('Failed', `cannot delete the directory ${source} of pool ${name}`, error);
  }
}

/** Removes what a crash left half made or half deleted, apart from what is `busy` in this process. */
export async function mountDirPool(source: string, name: string, busy: ReadonlySet<string>): Promise<void> {
  const stats = await lstat(source).catch((error: unknown) => {
    throw new DriverError('Failed', `cannot use the directory ${source} of pool ${name}`, error);
  });
  if (!stats.isDirectory()) throw new DriverError('Failed', `${source} of pool ${name} is not a directory`);
  await makeFolders(source);
  for (const entry of await namesIn(join(source, temporaryFolder))) {
    const path = join(source, temporaryFolder, entry);
    if (busy.has(path)) continue;
    await removeTree(path).catch((error: unknown) => {
      throw new DriverError('Failed', `cannot remove the leftover ${path} of pool ${name}`, error);
    });
  }
}

async function checkPlace(root: string, source: string, name: string, isOwn: boolean): Promise<void> {
  const stats = await lstat(source).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
    throw new DriverError(
      'Invalid',
      `config.source: ${source} of pool ${name} does not exist; create the directory first`,
    );
  });
  if (!stats.isDirectory())
    throw new DriverError(
      'Invalid',
      `config.source: ${source} of pool ${name} is not a directory (links are not followed)`,
    );
  const [real, realState] = [await realpath(source), await realpath(dirname(root)).catch(() => dirname(root))];
  if (!isOwn && isInside(realState, real))
    throw new DriverError('Invalid', `config.source: ${source} of pool ${name} leads into the state of the daemon`);
}

async function foreignContent(source: string): Promise<string | undefined> {
  for (const entry of await readdir(source)) {
    if (!poolFolders.includes(entry)) return entry;
    const [inside] = await namesIn(join(source, entry));
    if (inside !== undefined) return `${entry}/${inside}`;
  }
  return undefined;
}

async function makeFolders(source: string): Promise<void> {
  await chmod(source, 0o711);
  for (const folder of poolFolders) {
    const mode = folder === temporaryFolder ? 0o700 : 0o711;
    await mkdir(join(source, folder), { mode }).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw new DriverError('Failed', `cannot make ${folder} in ${source}`, error);
    });
  }
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    if (hasCode(error, 'ENOTDIR')) return ['(not a directory)'];
    throw error;
  });
}
