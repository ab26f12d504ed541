// The code of an error, such as ENOENT, and errors of the local file system in words.
import { constants } from 'node:os';

/** Empty for any other value. Node has no name for EDQUOT. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('errno' in error && error.errno === -constants.errno.EDQUOT) return 'EDQUOT';
  return 'code' in error ? String(error.code) : '';
}

export const hasCode = (error: unknown, ...codes: readonly string[]): boolean => codes.includes(codeOf(error));

/** Says what failed, with the path, why, and what to do. */
export class FileError extends Error {
  override readonly name = 'FileError';
  readonly code: string;
  constructor(message: string, code: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder on this machine',
  EEXIST: 'it already exists',
  ENOTEMPTY: 'it already exists, and is not empty',
  EACCES: 'permission denied on this machine: change the permissions, or name another place',
  EPERM: 'this machine does not permit it',
  ENOTDIR: 'a part of the path is no folder',
  EISDIR: 'it is a folder',
  ENOSPC: 'no space is left on this machine: free some, and repeat',
  EDQUOT: 'the quota of its disk is used up: free some of it, and repeat',
  EROFS: 'the file system is read-only: make it writable, or name another place',
  ELOOP: 'it is a symbolic link, or a path with too many of them',
};

/** `what`: the failed action with its path. Returns errors unchanged that come from no system call, or say already what failed. */
export function fileError(what: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const code = codeOf(error);
  const reason = Object.hasOwn(reasons, code) ? reasons[code] : error.message;
  return new FileError(`${what}: ${reason}`, code, error);
}
