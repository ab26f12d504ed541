// The frame of every change in a container's tree: finds the entry, refuses kernel files, makes the change, explains a failure.
import { chownSync, closeSync, constants, fsync, type Stats } from 'node:fs';
import { promisify } from 'node:util';
import { hasCode } from '../../lib/shared/error-code.ts';
import type { EntryAttributes, FileRoot } from './driver.ts';
import { asFileError, failWith } from './file-error.ts';
import { loadNative, type Native } from './native-calls.ts';
import { reopen, type HeldEntry } from './held-entry.ts';
import { refuseKernelFiles } from './read.ts';
import { resolvePath, type PathTarget } from './resolve.ts';

export interface Change {
  readonly verb: string;
  readonly followLast: boolean;
}

export interface Acting {
  readonly found: PathTarget;
  readonly native: Native | undefined;
  /** Runs `work`, which makes an entry and must not wait, as a user who may create files in this tree. */
  readonly making: <T>(work: () => T) => T;
}

export async function changing(
  root: FileRoot,
  path: Buffer,
  change: Change,
  work: (acting: Acting) => void | Promise<void>,
): Promise<void> {
  const native = await loadNative();
  const { maker } = root.ids;
  const making = <T>(make: () => T): T =>
    maker === undefined || native === undefined ? make() : native.makingAs(maker.uid, maker.gid, make);
  let found: PathTarget | undefined;
  try {
    refuseLoss(root);
    found = resolvePath(root, path, change);
    refuseKernelFiles(found.parent);
    await work({ found, native, making });
    if (root.isSynced === true) await syncPlace(found.parent);
    // The change may have gone to a mount that vanished with the container.
    if (!root.isCurrent()) failWith('ESRCH', 'the container has stopped or restarted');
    refuseLoss(root);
  } catch (error) {
    throw asFileError(`Cannot ${change.verb} ${path.toString()} in ${root.label}`, error);
  } finally {
    found?.close();
  }
}

function refuseLoss({ lossOf }: FileRoot): void {
  const why = lossOf?.();
  if (why !== undefined) failWith('EBUSY', why);
}

/** Syncs the names in it. */
async function syncPlace(directory: HeldEntry): Promise<void> {
  const fd = reopen(directory, constants.O_RDONLY);
  try {
    await syncOpen(fd);
  } finally {
    closeSync(fd);
  }
}

/** In-memory file systems, and some of the kernel's, have nothing to sync. */
export async function syncOpen(fd: number): Promise<void> {
  await promisify(fsync)(fd).catch((error: unknown) => {
    if (!hasCode(error, 'EINVAL')) throw error;
  });
}

export interface HostIds {
  readonly uid: number;
  readonly gid: number;
}

/** Host ids for an entry: requested ones, else its current ones, else the container's root. */
export function ownerFor(root: FileRoot, wanted: EntryAttributes, present?: HostIds): HostIds {
  return { uid: idFor(root, 'uid', wanted.uid, present?.uid), gid: idFor(root, 'gid', wanted.gid, present?.gid) };
}

function idFor(root: FileRoot, kind: 'uid' | 'gid', wanted: number | undefined, present: number | undefined): number {
  if (wanted === undefined && present !== undefined) return present;
  const id = root.ids.toHost(kind, wanted ?? 0);
  return id ?? failWith('EINVAL', `its files cannot belong to ${kind} ${wanted ?? 0}`);
}

export const isOwnedBy = (stats: Stats, owner: HostIds): boolean => stats.uid === owner.uid && stats.gid === owner.gid;

/** Also for a symbolic link itself: the path through a descriptor ends at the entry. */
export function setOwner(held: HeldEntry, owner: HostIds): void {
  if (!isOwnedBy(held.stats, owner)) chownSync(held.path, owner.uid, owner.gid);
}
