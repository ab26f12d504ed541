// Wraps an error of the local file system as a CLI error that names the failed action and says why in words. Pure.
import { commandError } from './usage-error.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder on this machine',
  EACCES: 'permission denied on this machine',
  EPERM: 'this machine does not permit it',
  ENOTDIR: 'a part of the path is no folder',
  EISDIR: 'it is a folder',
  ENOSPC: 'no space is left on this machine',
  EROFS: 'the file system is read-only',
  ELOOP: 'it is a symbolic link, or a path with too many of them',
};

/** Returns every other error unchanged. */
export function localError(what: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return error;
  const reason = Object.hasOwn(reasons, String(error.code)) ? reasons[String(error.code)] : error.message;
  return commandError(`${what}: ${reason}`, error);
}
