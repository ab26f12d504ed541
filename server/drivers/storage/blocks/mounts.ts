// Mounts and unmounts the file systems of block devices, makes them and changes their size.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { exec, ExecError } from '../../../lib/exec.ts';
import { DriverError, driverErrors } from '../../driver-error.ts';
import { patiently, run } from '../mounted/mounts.ts';
import { missingProgram } from '../programs.ts';
import {
  commands,
  contentIn,
  isFileSystem,
  mountOptions,
  packageOf,
  saysHoldsMore,
  saysInUse,
  type FileSystem,
  type MountForm,
} from './commands.ts';

const longMs = 600_000;

/** The file system that is on the device. Throws Failed when it is none that volumes have. */
export async function fileSystemOn(device: string): Promise<FileSystem> {
  const type = (await probed(device)).trim();
  if (isFileSystem(type)) return type;
  throw driverErrors.failed(`${device} has no file system of a volume: ${type === '' ? 'nothing is on it' : type}`);
}

/** blkid has one status for a device with nothing on it and one that it cannot open, as happens to a device of ZFS for a moment. */
async function probed(device: string): Promise<string> {
  const probe = async (): Promise<string> => {
    const { stdout, stderr } = await exec(commands.probe(device), { okCodes: [0, 2] });
    if (stderr !== '') throw driverErrors.failed(`${device} cannot be opened: ${stderr.trim()}`);
    return stdout;
  };
  return patiently(probe, (error) => error instanceof DriverError);
}

/** What is on a block device that a user names, in words; undefined: nothing. */
export async function contentOf(device: string): Promise<string | undefined> {
  return contentIn((await exec(commands.signatures(device), { okCodes: [0, 2] })).stdout);
}

/** On a device with nothing on it. */
export async function makeFileSystem(fileSystem: FileSystem, device: string, signal?: AbortSignal): Promise<void> {
  const missing = await missingProgram([[`mkfs.${fileSystem}`, packageOf[fileSystem]]]);
  if (missing !== undefined) throw driverErrors.failed(missing);
  await run(commands.make(fileSystem, device), longMs, signal);
}

export async function mountDevice(device: string, path: string, form: MountForm): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await run(commands.mount(device, path, form.fileSystem, mountOptions(form))).catch((error: unknown) => {
    throw asRefused(path, form.options, error);
  });
}

/** Changes the options of a mount. Invalid. */
export async function remount(path: string, options: string): Promise<void> {
  await run(commands.remount(path, options)).catch((error: unknown) => {
    throw asRefused(path, options, error);
  });
}

/** Options that everybody takes are not to blame. */
const asRefused = (path: string, options: string, error: unknown): unknown =>
  error instanceof ExecError && options !== 'discard'
    ? driverErrors.invalid(`${path} cannot be mounted with block.mount_options ${options}: ${error.stderr.trim()}`)
    : error;

/** Also from a new ext4, whose lost+found is no file of a volume. */
export async function mountNew(device: string, path: string, form: MountForm): Promise<void> {
  await mountDevice(device, path, form);
  await rm(join(path, 'lost+found'), { recursive: true, force: true });
}

/** The file system fills its device. It is mounted at the path. */
export async function growFileSystem(fileSystem: FileSystem, device: string, path: string): Promise<void> {
  await run(commands.grow(fileSystem, device, path));
}

/** An ext4 that is not mounted, to the size of its device. */
export async function growUnmounted(device: string): Promise<void> {
  await checkExt4(device);
  await onUnused(device, () => run(commands.grow('ext4', device, '')));
}

/** Mends what a crash has left. It must not be mounted. */
export async function checkExt4(device: string): Promise<void> {
  await onUnused(device, () => exec(commands.check(device), { timeoutMs: longMs, okCodes: [0, 1] }));
}

/** The tools of ext4 refuse a device that a program has open, such as one that reads its label; for a while that is waited for. */
async function onUnused(device: string, use: () => Promise<unknown>): Promise<void> {
  const isBusy = (error: unknown): boolean => error instanceof ExecError && saysInUse(error);
  await patiently(use, isBusy).catch((error: unknown) => {
    if (!isBusy(error)) throw error;
    throw driverErrors.inUse(`${device} is in use: a program on the host has it open`, error);
  });
}

/** Throws Invalid when more is in it. ext4 must not be mounted, btrfs must be. */
export async function shrinkFileSystem(
  fileSystem: Exclude<FileSystem, 'xfs'>,
  device: string,
  path: string,
  bytes: number,
): Promise<void> {
  try {
    if (fileSystem === 'ext4') {
      await checkExt4(device);
      await onUnused(device, () => run(commands.shrinkExt4(device, bytes)));
    } else await run(commands.shrinkBtrfs(path, bytes));
  } catch (error) {
    if (!(error instanceof ExecError) || !saysHoldsMore(error.stderr)) throw error;
    throw driverErrors.invalid(
      `its files and the tables of ${fileSystem} need more than ${bytes} bytes: give it more, or delete files`,
      error,
    );
  }
}
