// Asks questions on a terminal, each with a default for an empty line.
import { createInterface } from 'node:readline';
import { printable } from '../../core/text/terminal-text.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { CliError } from '../errors/usage-error.ts';
import type { Command } from './context.ts';

export type AskFor = (question: string, usual: string) => Promise<string>;

/** All questions of `work` share one reader of standard input, so that input typed ahead is not lost between them. */
export async function withQuestions<T>(context: Command, work: (ask: AskFor) => Promise<T>): Promise<T> {
  const lines = createInterface({ input: context.io.stdin, terminal: false });
  const answers = lines[Symbol.asyncIterator]();
  const close = (): void => lines.close();
  context.stop.addEventListener('abort', close, { once: true });
  // No step is in progress while a question waits for its answer.
  const announceAgain = context.takeAnnouncements();
  try {
    return await work(async (question, usual) => {
      context.io.raw.stderr.write(`${printable(question)} [${printable(usual)}]: `);
      const { done, value } = await answers.next();
      if (context.stop.aborted) {
        context.io.raw.stderr.write('\n');
        throw new CliError('Interrupted: nothing was changed', exitCodes.interrupted);
      }
      if (done === true)
        throw new CliError('The input ended before all was answered: nothing was changed', exitCodes.usage);
      const answer = value.trim();
      return answer === '' ? usual : answer;
    });
  } finally {
    announceAgain();
    context.stop.removeEventListener('abort', close);
    lines.close();
  }
}
