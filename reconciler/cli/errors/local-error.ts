// An error of the local file system as an error of the command, with what was tried. Pure.
import { exitCodes } from './exit-codes.ts';
import { CliError } from './usage-error.ts';

/** Errors that are not of the system are returned as they are. */
export function localError(what: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return error;
  return new CliError(`${what}: ${error.message}`, exitCodes.error, error);
}
