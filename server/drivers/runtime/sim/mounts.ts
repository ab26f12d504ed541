// Shows the daemon's own mounts in simulated containers: as links in their root file systems. Does not show mounts of devices.
import { lstatSync, mkdirSync, rmdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ownMount } from '../../device-parts.ts';
import type { MountRun, RunConfig } from '../driver.ts';
import { succeeds } from '../../../lib/shared/attempt.ts';

export function linkMounts(run: Pick<RunConfig, 'rootfs' | 'mounts'>): void {
  for (const mount of run.mounts) if (mount.device === ownMount) linkMount(run.rootfs, mount);
}

export function unlinkMounts(run: Pick<RunConfig, 'rootfs' | 'mounts'>): void {
  for (const mount of run.mounts) if (mount.device === ownMount) unlinkMount(run.rootfs, mount);
}

/** Shows nothing if the image has a file of its own there. */
export function linkMount(rootfs: string, mount: MountRun): void {
  const path = join(rootfs, mount.target);
  if (!isMadeOfDirectories(rootfs, dirname(mount.target))) return;
  const before = kindOf(path);
  if (before === 'other') return;
  if (before === 'link') rmSync(path);
  if (before === 'directory' && !isRemoved(path)) return;
  symlinkSync(mount.source, path);
}

/** Idempotent. */
export function unlinkMount(rootfs: string, mount: MountRun): void {
  const isPossible = kindOf(join(rootfs, dirname(mount.target))) === 'directory';
  const path = join(rootfs, mount.target);
  if (isPossible && kindOf(path) === 'link') rmSync(path);
}

/** Makes missing directories. A link in the path could lead out of the root file system. */
function isMadeOfDirectories(rootfs: string, path: string): boolean {
  let at = rootfs;
  for (const part of path.split('/').filter((one) => one !== '')) {
    at = join(at, part);
    const kind = kindOf(at);
    if (kind === 'absent') mkdirSync(at);
    else if (kind !== 'directory') return false;
  }
  return true;
}

const isRemoved = (emptyDirectory: string): boolean => succeeds(() => rmdirSync(emptyDirectory));

function kindOf(path: string): 'absent' | 'directory' | 'link' | 'other' {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return 'absent';
  if (found.isDirectory()) return 'directory';
  return found.isSymbolicLink() ? 'link' : 'other';
}
