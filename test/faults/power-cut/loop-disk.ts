// A disk in a file, mounted as ext4 that rarely commits by itself, and copies of it in the state after a power cut.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

export interface MountedDisk {
  readonly mountPoint: string;
  readonly device: string;
  unmount(): void;
}

/**
 * Used in turn. The first commits metadata only every ten minutes, so that unsynced data does not reach the disk by luck; the second is
 * the default of hosts.
 */
export const mountOptions = ['commit=600', 'defaults'] as const;
export type MountOptions = (typeof mountOptions)[number];

export function makeDisk(file: string, bytes: number): void {
  writeFileSync(file, '');
  truncateSync(file, bytes);
  run('mkfs.ext4', '-q', '-F', '-m', '0', '-E', 'lazy_itable_init=0,lazy_journal_init=0', file);
}

export function mountDisk(file: string, mountPoint: string, options: MountOptions): MountedDisk {
  mkdirSync(mountPoint, { recursive: true });
  const device = run('losetup', '-f', '--show', file);
  try {
    run('mount', '-t', 'ext4', '-o', options, device, mountPoint);
  } catch (error) {
    run('losetup', '-d', device);
    throw error;
  }
  return {
    mountPoint,
    device,
    unmount: () => {
      run('umount', mountPoint);
      run('losetup', '-d', device);
    },
  };
}

/** The disk after a power cut for one process alone, mounted over the live disk: records have absolute paths. */
export interface PrivateDisk {
  /** Mounts the disk and becomes the program that follows; the mount ends with it. */
  readonly prefix: readonly string[];
  detach(): void;
}

export function privateDisk(file: string, mountPoint: string, options: MountOptions): PrivateDisk {
  const device = run('losetup', '-f', '--show', file);
  const script = `mount -t ext4 -o ${options} "$0" "$1" && shift && exec "$@"`;
  return {
    prefix: ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, device, mountPoint],
    detach: () => void run('losetup', '-d', device),
  };
}

const maxCopies = 20;

/**
 * Copies the disk without data that is only in kernel memory. Call it while no program writes. Repeats the copy if the kernel wrote
 * during it, since it would mix several moments.
 */
export function cutPower(file: string, disk: MountedDisk, target: string): void {
  for (let count = 0; count < maxCopies; count += 1) {
    const before = writesOf(disk.device);
    run('cp', '--sparse=always', file, target);
    if (writesOf(disk.device) === before) return;
    rmSync(target);
  }
  throw new Error(`the kernel wrote to ${disk.device} during each of ${maxCopies} copies`);
}

/** Writes and sectors until now, and requests in flight. */
function writesOf(device: string): string {
  const fields = readFileSync(join('/sys/block', basename(device), 'stat'), 'utf8')
    .trim()
    .split(/\s+/);
  return [fields[4], fields[6], fields[8]].join(' ');
}
