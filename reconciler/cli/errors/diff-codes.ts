// Exit codes of verbs that show differences, like diff(1): 0 same, 1 different, above 1 error. Pure.
import { FileError } from '../../../server/lib/shared/error-code.ts';
import { codeOf } from './error-outcome.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { CliError } from './usage-error.ts';

export const different = exitCodes.error;
const trouble = exitCodes.changes;

/** Turns errors with exit code 1, which would mean a difference, into 2. */
export async function withDiffCodes<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw (error instanceof CliError || error instanceof FileError) && codeOf(error) === exitCodes.error
      ? new CliError(error.message, trouble, error)
      : error;
  }
}

/** The worst of several codes: an error is worse than a difference. */
export const worstDiffCode = (codes: readonly ExitCode[]): ExitCode =>
  codes.reduce((worst, code) => (code > worst ? code : worst), exitCodes.ok);
