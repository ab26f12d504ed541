// Reads one entry of a container's tree: a file as a stream, the names in a directory, or the text of a symbolic link.
import { closeSync, constants, fstatSync, read, type Stats } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { EntryFacts, FileRoot, ReadEntry } from './driver.ts';
import { asFileError, failWith } from './file-error.ts';
import { kernelFileSystem, linkText, reopen, type HeldEntry } from './held-entry.ts';
import { resolvePath, type PathTarget } from './resolve.ts';

/** Max names in a listing: a container must not fill the daemon's memory. */
export const maxNames = 200_000;
const chunkBytes = 256 * 1024;

/** Follows links in the path inside the tree, but not one at its end. The caller reads or destroys the content. */
export async function readEntry(root: FileRoot, path: Buffer): Promise<ReadEntry> {
  const what = `Cannot read ${path.toString()} in ${root.label}`;
  let found: PathTarget | undefined;
  try {
    found = resolvePath(root, path, { followLast: false });
    const { entry, parent, name } = found;
    if (entry === undefined) return failWith('ENOENT');
    const { stats } = entry;
    const facts = factsOf(root, stats);
    if (stats.isDirectory()) return { ...facts, type: 'directory', names: await namesIn(entry) };
    if (stats.isSymbolicLink()) return { ...facts, type: 'symlink', target: linkText(parent, name) };
    refuseOddFile(entry);
    const fd = reopen(entry, constants.O_RDONLY);
    const { size } = fstatSync(fd);
    return { ...facts, type: 'file', size, content: contentOf(fd, size, what) };
  } catch (error) {
    throw asFileError(what, error);
  } finally {
    found?.close();
  }
}

export function factsOf(root: FileRoot, stats: Stats): EntryFacts {
  return {
    uid: root.ids.toGuest('uid', stats.uid),
    gid: root.ids.toGuest('gid', stats.gid),
    mode: stats.mode & 0o7777,
    modified: stats.mtime,
  };
}

/** Only regular files have content. */
export function refuseOddFile(entry: HeldEntry): void {
  const { stats } = entry;
  if (!stats.isFile()) failWith('EINVAL', `it is ${oddKind(stats)}, not a file`);
  refuseKernelFiles(entry);
}

/** The daemon would use these with the host's privileges. */
export function refuseKernelFiles(held: HeldEntry): void {
  const system = kernelFileSystem(held);
  if (system !== undefined) failWith('EINVAL', `it belongs to the kernel's ${system}: use a command in the container`);
}

function oddKind(stats: Stats): string {
  if (stats.isFIFO()) return 'a FIFO';
  if (stats.isSocket()) return 'a socket';
  return stats.isDirectory() ? 'a directory' : 'a device';
}

async function namesIn(held: HeldEntry): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const entry of await opendir(held.path, { bufferSize: 256 })) {
    if (names.length === maxNames) failWith('EINVAL', `the directory has more than ${maxNames} entries`);
    names.push(entry.name);
  }
  return names;
}

/** Exactly `size` bytes, as promised in the header. A file that shrinks during the read ends in an error. */
function contentOf(fd: number, size: number, what: string): Readable {
  let position = 0;
  return new Readable({
    highWaterMark: chunkBytes * 2,
    read() {
      const left = size - position;
      if (left === 0) {
        this.push(null);
        return;
      }
      const chunk = Buffer.allocUnsafeSlow(Math.min(chunkBytes, left));
      read(fd, chunk, 0, chunk.length, position, (error, count) => {
        if (error !== null) this.destroy(asFileError(what, error) as Error);
        else if (count === 0) this.destroy(asFileError(what, shrunk()) as Error);
        else {
          position += count;
          this.push(chunk.subarray(0, count));
        }
      });
    },
    destroy(error, done) {
      closeSync(fd);
      done(error);
    },
  });
}

const shrunk = (): Error => Object.assign(new Error('it got shorter while it was read'), { code: 'EIO', ours: true });
