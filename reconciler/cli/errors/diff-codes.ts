// The exit codes of whatever shows a difference, as diff(1) has them: 0 same, 1 different, more: trouble. Pure but for the work.
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { CliError } from './usage-error.ts';

export const different = exitCodes.error;
const trouble = exitCodes.changes;

/** What else ends with 1 ends with 2: one would mean that they differ. */
export async function withDiffCodes(work: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof CliError && error.exitCode === exitCodes.error
      ? new CliError(error.message, trouble, error)
      : error;
  }
}

/** Of several: trouble stands above difference. */
export const worstDiffCode = (codes: readonly ExitCode[]): ExitCode =>
  codes.reduce((worst, code) => (code > worst ? code : worst), exitCodes.ok);
