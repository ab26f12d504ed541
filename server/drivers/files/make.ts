// Makes directories and symbolic links in a container's tree, and removes entries from it.
import { chmodSync, mkdirSync, rmdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { changing, ownerFor, setOwner } from './change-entry.ts';
import type { EntryAttributes, FileRoot } from './driver.ts';
import { failWith } from './file-error.ts';
import { below, isMountPoint, linkText, holdEntry, type HeldEntry } from './held-entry.ts';
import { refuseKernelFiles } from './read.ts';

/** LXD's default (real system section 29). */
const defaultMode = 0o750;

/** Accepts an existing directory, and sets the given attributes. */
export async function makeDirectory(root: FileRoot, path: Buffer, wanted: EntryAttributes): Promise<void> {
  await changing(root, path, { verb: 'make the directory', followLast: true }, ({ found, making }) => {
    const { entry } = found;
    if (entry !== undefined) {
      if (!entry.stats.isDirectory()) failWith('EEXIST', 'a file is there');
      refuseKernelFiles(entry);
      setOwner(entry, ownerFor(root, wanted, entry.stats));
      if (wanted.mode !== undefined) chmodSync(entry.path, wanted.mode);
      return;
    }
    const owner = ownerFor(root, wanted);
    const at = below(found.parent, found.name);
    making(() => mkdirSync(at, 0o700));
    orUndo(
      () => {
        changeNew(
          at,
          (made) => made.stats.isDirectory(),
          (made) => {
            setOwner(made, owner);
            chmodSync(made.path, wanted.mode ?? defaultMode);
          },
        );
      },
      () => rmdirSync(at),
    );
  });
}

/** Accepts an existing equal link. */
export async function makeSymlink(
  root: FileRoot,
  path: Buffer,
  target: Buffer,
  wanted: EntryAttributes,
): Promise<void> {
  await changing(root, path, { verb: 'make the symbolic link', followLast: false }, ({ found, making }) => {
    if (target.length === 0 || target.includes(0)) failWith('EINVAL', 'its target is empty or has a NUL byte in it');
    const { entry } = found;
    if (entry !== undefined) {
      const isSame = entry.stats.isSymbolicLink() && linkText(found.parent, found.name).equals(target);
      if (!isSame) failWith('EEXIST');
      return;
    }
    const owner = ownerFor(root, wanted);
    const at = below(found.parent, found.name);
    making(() => symlinkSync(target, at));
    orUndo(
      () =>
        changeNew(
          at,
          (made) => made.stats.isSymbolicLink(),
          (made) => setOwner(made, owner),
        ),
      () => unlinkSync(at),
    );
  });
}

/** Removes a file, link, FIFO or socket, or an empty directory. Never follows a link. */
export async function removeEntry(root: FileRoot, path: Buffer): Promise<void> {
  await changing(root, path, { verb: 'delete', followLast: false }, ({ found }) => {
    if (found.name.length === 0) failWith('EBUSY', 'it is the root directory');
    if (found.entry === undefined) failWith('ENOENT');
    if (isMountPoint(found.parent, found.entry)) failWith('EBUSY', 'something is mounted there');
    const at = below(found.parent, found.name);
    if (found.entry.stats.isDirectory()) rmdirSync(at);
    else unlinkSync(at);
  });
}

/** Changes an entry that was just made. If a program inside has replaced it, the replacement stays as it is. */
function changeNew(at: Buffer, isOurs: (made: HeldEntry) => boolean, change: (made: HeldEntry) => void): void {
  const made = holdEntry(at);
  try {
    if (!isOurs(made)) failWith('EEXIST', 'it was replaced while it was made');
    change(made);
  } finally {
    made.close();
  }
}

function orUndo(work: () => void, undo: () => void): void {
  try {
    work();
  } catch (error) {
    try {
      undo();
    } catch {
      // It is no longer ours.
    }
    throw error;
  }
}
