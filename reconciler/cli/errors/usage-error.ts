// Errors that end a command with an exit code and a message for people.
import { exitCodes, type ExitCode } from './exit-codes.ts';

export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;
  constructor(message: string, exitCode: ExitCode, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
  }
}

/** A command that failed, for any reason without an exit code of its own. */
export const commandError = (message: string, cause?: unknown): CliError =>
  new CliError(message, exitCodes.error, cause);

export const usageError = (message: string): CliError => new CliError(message, exitCodes.usage);

/** The command took longer than --timeout. */
export class ExpiredError extends CliError {}
