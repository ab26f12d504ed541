// The calls of the kernel about project quotas, through koffi; undefined where there is none. Each takes a descriptor of the file system.
import { libcCalls } from '../../libc-calls.ts';
import {
  getAttributes,
  holdsIn,
  newAttributes,
  newQuota,
  newState,
  type Project,
  projectIn,
  type Quota,
  quotactlFd,
  quotaIn,
  quotaWith,
  readQuota,
  readState,
  setAttributes,
  withProject,
  writeQuota,
} from './structs.ts';

export interface QuotaCalls {
  /** All throw errors with the codes of ioctl(2) and quotactl(2). */
  projectOf(fd: number): Project;
  setProject(fd: number, id: number, isDirectory: boolean): void;
  /** A project that no file has is all zero. */
  quotaOf(fd: number, id: number): Quota;
  setLimit(fd: number, id: number, bytes: number | undefined, isBeginning?: boolean): void;
  /** Whether limits of projects hold on the file system. */
  hold(fd: number): boolean;
}

export const loadQuotaCalls = libcCalls<QuotaCalls>((libc, { failed }) => {
  const ioctl = libc.func('int ioctl(int fd, ulong request, _Inout_ uint8_t *data)');
  const quotactl = libc.func('long syscall(long number, int fd, uint command, uint id, _Inout_ uint8_t *data)');
  const check = (result: unknown, call: string): void => {
    if (Number(result) < 0) throw failed(`${call} of a project failed`);
  };
  const ask = (fd: number, command: number, id: number, block: Buffer): Buffer => {
    check(quotactl(quotactlFd, fd, command, id, block), 'quotactl_fd');
    return block;
  };
  const attributesOf = (fd: number): Buffer => {
    const attributes = newAttributes();
    check(ioctl(fd, getAttributes, attributes), 'FS_IOC_FSGETXATTR');
    return attributes;
  };
  return {
    projectOf: (fd) => projectIn(attributesOf(fd)),
    setProject(fd, id, isDirectory) {
      check(ioctl(fd, setAttributes, withProject(attributesOf(fd), id, isDirectory)), 'FS_IOC_FSSETXATTR');
    },
    quotaOf: (fd, id) => quotaIn(orNothing(() => ask(fd, readQuota, id, newQuota())) ?? newQuota()),
    setLimit: (fd, id, bytes, isBeginning) => void ask(fd, writeQuota, id, quotaWith(bytes, isBeginning)),
    hold: (fd) => holdsIn(ask(fd, readState, 0, newState())),
  };
});

/** xfs knows nothing of a project that never had a file. */
function orNothing(ask: () => Buffer): Buffer | undefined {
  try {
    return ask();
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'ENOENT') return undefined;
    throw error;
  }
}
