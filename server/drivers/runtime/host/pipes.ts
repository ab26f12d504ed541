// Makes kernel pipes, which Node cannot, through libc, and streams of their ends.
import { Socket } from 'node:net';
import { driverErrors } from '../../driver-error.ts';
import type { Libc } from './syscalls.ts';

/** Both ends are close-on-exec. */
export function openPipe(libc: Libc): { readonly reader: number; readonly writer: number } {
  const ends = new Int32Array(2);
  if (libc.pipe2(ends, closeOnExec) !== 0) throw driverErrors.failed('Cannot make a pipe: too many open files?');
  return { reader: ends[0] ?? -1, writer: ends[1] ?? -1 };
}

const closeOnExec = 0o2000000;

export const pipeReader = (fd: number): Socket => new Socket({ fd, readable: true, writable: false });
export const pipeWriter = (fd: number): Socket => new Socket({ fd, readable: false, writable: true });
