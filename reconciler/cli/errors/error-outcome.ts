// The message and exit code of an error that ended a command, or its part for one host. Pure.
import { ClientError } from '../../../server/client/client-error.ts';
import { fileError, FileError } from '../../../server/lib/shared/error-code.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { CliError } from './usage-error.ts';

export const messageOf = (error: unknown): string => {
  if (error instanceof CliError || error instanceof ClientError || error instanceof FileError) return error.message;
  if (error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd')
    return 'the current folder no longer exists: change to another one';
  // A file of this machine that nothing expected to fail.
  const named =
    error instanceof Error && 'path' in error ? fileError(`cannot use ${String(error.path)}`, error) : error;
  if (named instanceof FileError) return named.message;
  // An unexpected error: the stack helps to find it.
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
};

export function codeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof ClientError && (error.code === 'unreachable' || error.code === 'untrusted')) {
    return exitCodes.unreachable;
  }
  return exitCodes.error;
}
