// The files of an image as stored, and their fingerprint.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { driverErrors } from '../driver-error.ts';

export interface ImagePaths {
  readonly metadataPath: string;
  /** Absent for a unified image, which is one file. */
  readonly rootfsPath?: string;
  /** Its root file system has ACLs as LXD writes them: unpacking translates them for tar. */
  readonly kernelAcls?: true;
}

/** Hex sha256 of the file, or of the metadata file followed by the root file system file. */
export async function fingerprintImage(files: ImagePaths, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const paths = files.rootfsPath === undefined ? [files.metadataPath] : [files.metadataPath, files.rootfsPath];
  for (const path of paths) {
    try {
      for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024, signal })) hash.update(chunk);
    } catch (error) {
      signal.throwIfAborted();
      throw driverErrors.failed('cannot read a file of the image for its fingerprint', error);
    }
  }
  return hash.digest('hex');
}

/** Space that an unprivileged user could still use below the directory. */
export async function freeSpace(directory: string): Promise<{ readonly bytes: number; readonly inodes: number }> {
  const stats = await statfs(directory);
  // File systems without a fixed number of inodes report 0 of 0.
  return { bytes: stats.bavail * stats.bsize, inodes: stats.files === 0 ? Number.MAX_SAFE_INTEGER : stats.ffree };
}
