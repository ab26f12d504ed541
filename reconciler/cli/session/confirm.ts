// Asks for approval on a terminal; without a terminal approval must be given by a flag.
import { createInterface } from 'node:readline';
import { printable } from '../../core/text/terminal-text.ts';
import type { Command, Context } from './context.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { isApproved, type PlanFlagOptions, type RunOptions } from '../flags/plan-flags.ts';
import { CliError, usageError, commandError } from '../errors/usage-error.ts';

type ApprovalOptions = Pick<RunOptions, 'autoApprove' | 'yes'> & Pick<PlanFlagOptions, 'input'>;

/** Throws unless approved. `question` ends with a question mark; `what` needs the approval. */
export async function confirm(context: Context<ApprovalOptions>, question: string, what = 'The plan'): Promise<void> {
  const { io, options } = context;
  // A plan that could not be printed cannot be approved.
  await io.flush();
  context.stop.throwIfAborted();
  if (isApproved(options)) return;
  if (io.stdin.isTTY !== true || context.isJson || options.input === false) {
    throw usageError(`${what} needs approval: run in a terminal, or use --auto-approve`);
  }
  const answer = await ask(context, `\n${question}\n  Only 'yes' will be accepted to approve.\n\n  Enter a value: `);
  if (answer !== 'yes') throw commandError('Not approved: nothing was changed');
}

export function ask(context: Command, prompt: string): Promise<string> {
  const { stderr } = context.io.raw;
  const lines = createInterface({ input: context.io.stdin, output: stderr });
  // No step is in progress while the question waits.
  const announceAgain = context.takeAnnouncements();
  return new Promise<string>((resolve, reject) => {
    let isAnswered = false;
    const interrupted = (): void => {
      reject(new CliError('Interrupted: nothing was changed', exitCodes.interrupted));
      lines.close();
    };
    context.stop.addEventListener('abort', interrupted, { once: true });
    lines.once('SIGINT', interrupted);
    // The end of input is not an approval.
    lines.once('close', () => {
      if (!isAnswered) stderr.write('\n');
      resolve('');
    });
    lines.question(printable(prompt), (answer) => {
      isAnswered = true;
      resolve(answer.trim());
      lines.close();
    });
  }).finally(announceAgain);
}
