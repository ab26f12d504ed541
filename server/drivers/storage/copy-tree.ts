// Copies a directory tree whole: owners, modes, times, hard links, holes, extended attributes; never follows links.
import { exec, ExecError } from '../../lib/exec.ts';
import { DriverError } from '../driver-error.ts';
import { hasCode, toolEnv } from './remove-tree.ts';

const dayMs = 86_400_000;

/** `target` must not exist. On a throw (also by abort) a part of it may be there: the caller removes it. */
export async function copyTree(source: string, target: string, signal: AbortSignal): Promise<void> {
  await exec(
    ['cp', '-a', '--reflink=auto', '-T', '--', source, target],
    { timeoutMs: dayMs, env: toolEnv, maxBytes: 16_384 },
    signal,
  );
}

/** A full disk is told apart from other failures; driver errors pass as they are. */
export function asDriverError(what: string, error: unknown): DriverError {
  if (error instanceof DriverError) return error;
  return new DriverError(isOutOfSpace(error) ? 'NoSpace' : 'Failed', what, error);
}

function isOutOfSpace(error: unknown): boolean {
  if (hasCode(error, 'ENOSPC') || hasCode(error, 'EDQUOT')) return true;
  return error instanceof ExecError && /No space left on device|Disk quota exceeded/.test(error.stderr);
}

/** Writes the whole file system of `directory` to the disk. */
export async function syncTree(directory: string, signal: AbortSignal): Promise<void> {
  await exec(['sync', '-f', '--', directory], { timeoutMs: dayMs, env: toolEnv }, signal);
}
