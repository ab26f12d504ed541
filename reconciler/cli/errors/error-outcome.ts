// What an error that ended a command, or the part of it for one host, means: its message and its exit code. Pure.
import { ClientError } from '../../../server/client/client-error.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { CliError } from './usage-error.ts';

export const messageOf = (error: unknown): string => {
  if (error instanceof CliError || error instanceof ClientError) return error.message;
  // Nobody foresaw it: the stack is what helps.
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
};

export function codeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof ClientError && (error.code === 'unreachable' || error.code === 'untrusted')) {
    return exitCodes.unreachable;
  }
  return exitCodes.error;
}
