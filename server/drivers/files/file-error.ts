// Turns errors of system calls into driver errors that say what was tried and why it failed.
import { codeOf } from '../../lib/shared/error-code.ts';
import { DriverError, type DriverErrorCode } from '../driver-error.ts';

const known: Readonly<Record<string, readonly [DriverErrorCode, string]>> = {
  ENOENT: ['NotFound', 'there is no such file or directory'],
  ENOTDIR: ['Invalid', 'a part of the path is no directory'],
  EISDIR: ['Invalid', 'it is a directory'],
  ENOTEMPTY: ['Invalid', 'the directory is not empty'],
  EEXIST: ['Exists', 'something of that name is there already'],
  ELOOP: ['Invalid', 'too many symbolic links'],
  ENAMETOOLONG: ['Invalid', 'the path or a name in it is too long'],
  EINVAL: ['Invalid', 'the file system does not take this name or value'],
  EROFS: ['Invalid', 'it is on a read-only mount'],
  EPERM: ['Invalid', 'the file system does not permit it'],
  EACCES: ['Invalid', 'permission denied'],
  EBUSY: ['InUse', 'it is in use, perhaps as a mount point'],
  EAGAIN: ['InUse', 'a program in the container has a lease on it'],
  ETXTBSY: ['InUse', 'it is a program that runs'],
  EOVERFLOW: ['Invalid', 'its file system belongs to the container alone, and the host cannot make files in it'],
  ENOSPC: ['NoSpace', 'no space is left'],
  EDQUOT: ['Invalid', 'the quota of the disk is used up: free room on it, or give it a larger size'],
  EFBIG: ['NoSpace', 'the file would be too large'],
  ESRCH: ['Failed', 'the container has just stopped'],
};

/** Our own reasons, with the system's codes for similar ones. */
export function failWith(code: keyof typeof known, text?: string): never {
  throw Object.assign(new Error(text ?? known[code]?.[1] ?? code), { code, ours: true });
}

export function asFileError(what: string, error: unknown): unknown {
  if (error instanceof DriverError || !(error instanceof Error) || !('code' in error)) return error;
  const code = codeOf(error);
  const [driverCode, reason] = known[code] ?? (['Failed', code] as const);
  // The system's text names descriptors, which mean nothing to users.
  return new DriverError(driverCode, what, 'ours' in error ? error : new Error(reason));
}
