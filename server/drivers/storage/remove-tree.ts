// Deletes a directory tree without following symbolic links or entering other file systems; small trees without a process.
import { chmod, lstat, readdir, readFile, realpath, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../lib/shared/error-code.ts';
import { exec, ExecError } from '../../lib/exec.ts';
import { isMountedBelow } from './mountinfo.ts';

/** Up to here unlinking by the few threads of this process is quicker than starting a program. */
const smallTree = 1000;
const hourMs = 3_600_000;

/** Resolves also when there was nothing. Throws when something could not be removed. */
export async function removeTree(path: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const stats = await lstat(path);
      if (!stats.isDirectory()) return await unlink(path);
      if (!(await removeSmall(path, stats.dev))) await removeLarge(path);
      return;
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return;
      // A killed program may still have been writing below the directory.
      if (attempt >= 5 || !isNotEmpty(error)) throw error;
      await sleep(20 * attempt);
    }
  }
}

interface TreePaths {
  readonly files: string[];
  readonly directories: string[];
}

/** False: too big for this, and no file was removed. */
async function removeSmall(directory: string, device: number): Promise<boolean> {
  const listed: TreePaths = { files: [], directories: [directory] };
  if (!(await list(directory, device, listed))) return false;
  await all(listed.files, unlink);
  for (const each of listed.directories.toReversed()) await rmdir(each);
  return true;
}

async function removeEmpty(directory: string): Promise<boolean> {
  try {
    await rmdir(directory);
    return true;
  } catch (error) {
    // Something mounted on it is judged by whoever looks into it.
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST', 'EBUSY')) throw error;
    return false;
  }
}

/** False when there is more than a small tree has. */
async function list(directory: string, device: number, listed: TreePaths): Promise<boolean> {
  const entries = await listEvenIfClosed(directory);
  if (entries === undefined) return false;
  if (listed.files.length + listed.directories.length + entries.length > smallTree) return false;
  const below: string[] = [];
  for (const entry of entries) (entry.isDirectory() ? below : listed.files).push(join(directory, entry.name));
  const isListed = await all(below, async (path) => {
    if (await removeEmpty(path)) return true;
    listed.directories.push(path);
    const { dev } = await lstat(path);
    // A subvolume of btrfs looks like one, and is a guest's to make.
    if (dev !== device && (await hasMounts(path))) throw new Error(`${path} is a mount point, or has one in it`);
    return list(path, dev, listed);
  });
  return !isListed.includes(false);
}

/** Side by side. Fails with the first failure, but not before all have ended. */
async function all<T>(paths: readonly string[], work: (path: string) => Promise<T>): Promise<readonly T[]> {
  const ended = await Promise.allSettled(paths.map(work));
  return ended.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}

async function listEvenIfClosed(directory: string) {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (error) {
    if (!hasCode(error, 'EACCES')) throw error;
    await chmod(directory, 0o700);
    return undefined;
  }
}

/** Whether anything is mounted at the path or below; true where that cannot be told. */
async function hasMounts(path: string): Promise<boolean> {
  const [table, real] = await Promise.all([
    readFile('/proc/self/mountinfo', 'utf8').catch(() => undefined),
    realpath(path),
  ]);
  return table === undefined || isMountedBelow(table, real);
}

async function removeLarge(path: string): Promise<void> {
  // The flag makes it leave subvolumes of btrfs where they are.
  const bounds = (await hasMounts(path)) ? ['--one-file-system'] : [];
  const remove = ['rm', '-rf', ...bounds, '--', path];
  try {
    await exec(remove, { timeoutMs: hourMs });
  } catch (error) {
    const text = error instanceof ExecError ? error.stderr : '';
    // Directories without permission bits stop an owner that is not root; immutable files stop root.
    if (/Permission denied/.test(text)) await exec(['chmod', '-R', 'u+rwx', '--', path]);
    else if (/Operation not permitted/.test(text))
      await exec(['chattr', '-R', '-f', '-i', '-a', '--', path], { okCodes: [0, 1] });
    else throw error;
    await exec(remove, { timeoutMs: hourMs });
  }
}

function isNotEmpty(error: unknown): boolean {
  return hasCode(error, 'ENOTEMPTY') || (error instanceof ExecError && /not empty/.test(error.stderr));
}
