// Wraps an error of the local file system as a CLI error that names the failed action. Pure.
import { exitCodes } from './exit-codes.ts';
import { CliError } from './usage-error.ts';

/** Returns every other error unchanged. */
export function localError(what: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return error;
  return new CliError(`${what}: ${error.message}`, exitCodes.error, error);
}
