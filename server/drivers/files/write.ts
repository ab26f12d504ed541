// Writes files of a container's tree: a file keeps its old content until the new one is complete.
import { closeSync, constants, fchmodSync, fchownSync, fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { codeOf } from '../../lib/shared/error-code.ts';
import { changing, isOwnedBy, ownerFor, syncOpen, type Acting, type HostIds } from './change-entry.ts';
import { cannotMakeThere, openSpool, openUnnamed, type Spool } from './unnamed-file.ts';
import type { EntryAttributes, FileRoot } from './driver.ts';
import { copyBytes, fill } from './copy-bytes.ts';
import { failWith } from './file-error.ts';
import type { Native } from './native-calls.ts';
import { below, isMountPoint, reopen, type HeldEntry } from './held-entry.ts';
import { refuseOddFile } from './read.ts';

/** LXD's default (real system section 29). */
const defaultMode = 0o640;

export interface WriteOptions extends EntryAttributes {
  /** Appends; makes the file if absent. */
  readonly append: boolean;
}

/** Follows a link at the end of the path inside the tree. On a throw the rest of `content` is left unread. */
export async function writeFile(
  root: FileRoot,
  path: Buffer,
  content: Readable,
  options: WriteOptions,
  signal: AbortSignal,
): Promise<void> {
  await changing(root, path, { verb: 'write', followLast: true }, async (acting) => {
    const { entry, parent } = acting.found;
    const sync = syncOf(root);
    if (entry === undefined) {
      const file = { owner: ownerFor(root, options), mode: options.mode ?? defaultMode, sync };
      const append = (from: number): Promise<void> => appendTo(root, path, from, options, signal);
      await create(acting, content, { ...file, ...(options.append ? { append } : {}) }, signal);
      return;
    }
    refuseOddFile(entry);
    const owner = ownerFor(root, options, entry.stats);
    // Another name of the file, or a mount of it, would keep the old content.
    const mustStay = options.append || entry.stats.nlink > 1 || isMountPoint(parent, entry);
    const change = { owner, mode: options.mode, append: options.append, sync };
    if (mustStay || acting.native === undefined) await refill(acting, entry, content, change, signal);
    else await replace(acting, entry, content, change, signal);
  });
}

/** Syncs an open file if the tree is durable. */
type Sync = (fd: number) => Promise<void>;

const syncOf = (root: FileRoot): Sync => (root.isSynced === true ? syncOpen : () => Promise.resolve());

interface NewFile {
  readonly sync: Sync;
  readonly owner: HostIds;
  readonly mode: number;
  /** Adds the content of an open file to the one that another request has made meanwhile; absent: the new file replaces that one. */
  readonly append?: (from: number) => Promise<void>;
}

async function create(acting: Acting, content: Readable, file: NewFile, signal: AbortSignal): Promise<void> {
  const made = openUnnamed(acting);
  try {
    await fill(made.fd, content, signal);
    setOwnerAndMode(made.fd, file.owner, file.mode);
    await file.sync(made.fd);
    const at = below(acting.found.parent, acting.found.name);
    if (file.append === undefined) made.moveTo(at);
    else if (!made.moveToFree(at)) await file.append(made.fd);
  } finally {
    made.close();
  }
}

async function appendTo(
  root: FileRoot,
  path: Buffer,
  from: number,
  options: WriteOptions,
  signal: AbortSignal,
): Promise<void> {
  await changing(root, path, { verb: 'write', followLast: true }, async ({ found: { entry } }) => {
    if (entry === undefined) failWith('ENOENT');
    refuseOddFile(entry);
    const owner = ownerFor(root, options, entry.stats);
    await pour(from, entry, { owner, mode: options.mode, append: true, sync: syncOf(root) }, signal);
  });
}

interface FileChange {
  readonly sync: Sync;
  readonly owner: HostIds;
  readonly mode: number | undefined;
  readonly append: boolean;
}

/** Replaces it with a new file that has the old one's owner, mode and attributes. */
async function replace(
  acting: Acting,
  entry: HeldEntry,
  content: Readable,
  change: FileChange,
  signal: AbortSignal,
): Promise<void> {
  await withContent(acting, content, signal, async (spool) => {
    // Content, owner and mode are synced before the name.
    await change.sync(spool.fd);
    if (tryToMove(acting, entry, spool, change)) await change.sync(spool.fd);
    else await pour(spool.fd, entry, change, signal);
  });
}

/** `work` gets a file with the complete content. */
async function withContent(
  acting: Acting,
  content: Readable,
  signal: AbortSignal,
  work: (spool: Spool) => Promise<void>,
): Promise<void> {
  const spool = openSpool(acting);
  try {
    await fill(spool.fd, content, signal);
    await work(spool);
  } finally {
    spool.close();
  }
}

/** False: the directory or its file system cannot replace one file with another. */
function tryToMove({ found, native }: Acting, entry: HeldEntry, spool: Spool, { owner, mode }: FileChange): boolean {
  if (spool.moveTo === undefined || !takesAttributes(entry, spool.fd, native)) return false;
  try {
    setOwnerAndMode(spool.fd, owner, mode ?? keptMode(entry, owner));
    spool.moveTo(below(found.parent, found.name));
    return true;
  } catch (error) {
    if (!cannotMakeThere.has(codeOf(error))) throw error;
    return false;
  }
}

function takesAttributes(entry: HeldEntry, to: number, native: Native | undefined): boolean {
  const old = reopen(entry, constants.O_RDONLY);
  try {
    native?.copyAttributes(old, to);
    return true;
  } catch {
    return false;
  } finally {
    closeSync(old);
  }
}

/** A change of owner clears setuid and setgid. */
function keptMode({ stats }: HeldEntry, owner: HostIds): number {
  return stats.mode & (isOwnedBy(stats, owner) ? 0o7777 : 0o1777);
}

/** The file stays the same inode: it is rewritten in one go once the content is complete. */
async function refill(
  acting: Acting,
  entry: HeldEntry,
  content: Readable,
  change: FileChange,
  signal: AbortSignal,
): Promise<void> {
  await withContent(acting, content, signal, (spool) => pour(spool.fd, entry, change, signal));
}

async function pour(
  from: number,
  entry: HeldEntry,
  { owner, mode, append, sync }: FileChange,
  signal: AbortSignal,
): Promise<void> {
  const fd = reopen(entry, constants.O_WRONLY | (append ? constants.O_APPEND : constants.O_TRUNC));
  try {
    await copyBytes(from, fd, signal);
    setOwnerAndMode(fd, owner, mode);
    await sync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Owner first: a change of owner clears setuid and setgid. */
function setOwnerAndMode(fd: number, owner: HostIds, mode: number | undefined): void {
  const stats = fstatSync(fd);
  if (!isOwnedBy(stats, owner)) fchownSync(fd, owner.uid, owner.gid);
  if (mode !== undefined) fchmodSync(fd, mode);
}
