// Ends a verb that only reads at the first Ctrl-C: there are no steps to finish, and the error says that nothing was changed.
import { exitCodes } from '../errors/exit-codes.ts';
import { CliError } from '../errors/usage-error.ts';
import type { Run } from '../session/context.ts';

export const readingOnly =
  <O extends object>(run: Run<O>): Run<O> =>
  async (context, args, fleet) => {
    const announceAgain = context.takeAnnouncements();
    try {
      return await run(context, args, fleet);
    } catch (error) {
      if (error instanceof CliError && error.exitCode === exitCodes.interrupted && context.stop.aborted)
        throw new CliError('Interrupted: nothing was changed', exitCodes.interrupted, error);
      throw error;
    } finally {
      announceAgain();
    }
  };
