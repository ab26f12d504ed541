// Block devices for tests: files that the kernel shows as disks. Their makers detach them.
import { execFileSync } from 'node:child_process';
import { existsSync, truncateSync, writeFileSync } from 'node:fs';

const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

/** The reason why there can be none here; undefined when there can. */
export function loopDeviceMissing(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'loop devices need root on Linux';
  if (!existsSync('/dev/loop-control')) return 'this host has no loop devices';
  try {
    run('mkfs.ext4', '-V');
    run('losetup', '-f');
    return undefined;
  } catch (error) {
    return `mkfs.ext4 or a free loop device is missing: ${String(error).split('\n')[0]}`;
  }
}

/** `files`: a directory whose files are on it. Absent: nothing is on it. Returns the path of the device. */
export function attachLoop(file: string, files?: string): string {
  writeFileSync(file, '');
  truncateSync(file, 16 << 20);
  if (files !== undefined) run('mkfs.ext4', '-q', '-F', '-d', files, file);
  return run('losetup', '-f', '--show', file);
}

/** Detaches a device; the kernel detaches a busy one at its last use. */
export function detachLoop(device: string): void {
  run('losetup', '-d', device);
}
