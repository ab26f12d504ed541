// `gantry completion SHELL`: a script that completes commands, flags and live names.
import { bashCompletion, fishCompletion, zshCompletion } from '../completion.ts';
import type { CliContext } from '../context.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { buildProgram } from '../program.ts';
import { usageError } from '../usage-error.ts';

const makers = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

export function completion(context: CliContext, shell: string | undefined): ExitCode {
  if (shell === undefined || !Object.hasOwn(makers, shell))
    throw usageError(`${JSON.stringify(shell)} is none of ${Object.keys(makers).join(', ')}`);
  const program = buildProgram(() => Promise.resolve());
  context.io.stdout.write(makers[shell as keyof typeof makers](program));
  return exitCodes.ok;
}
