// Runs one command line to its exit code: parsing, error messages, closing down. The process edge is main.ts.
import { isUtf8 } from 'node:buffer';
import { CommanderError, type Command } from 'commander';
import { normalizeArgv } from '../flags/single-dash-flags.ts';
import { openContext, type Context, type OpenedContext, type Output, type Run } from '../session/context.ts';
import { exitCodes, type ExitCode } from '../errors/exit-codes.ts';
import type { CliIo } from '../output/process-io.ts';
import { colorOf, openIo, type ShownIo } from '../output/safe-io.ts';
import type { OutputOptions } from '../flags/output-flags.ts';
import { chosenServer } from '../session/contexts.ts';
import type { ConnectOptions } from '../session/host.ts';
import { paintFor } from '../output/paint.ts';
import { buildProgram, helpOfSecondWord, longFlags, refuseUnknownHelp } from './program.ts';
import { knownVerbs } from './verbs.ts';
import { jsonLine, versionLine } from '../output/render-json.ts';
import { codeOf, messageOf } from '../errors/error-outcome.ts';
import { CliError, usageError } from '../errors/usage-error.ts';
import { readCommandLine, withEnvironment } from '../flags/foreign-flags.ts';
import { version } from '../../../server/api/version.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

export async function runCli(process: CliIo): Promise<ExitCode> {
  const io = openIo(process);
  const code = await runProgram(io);
  await io.flush();
  const lost = io.lost.aborted ? (io.lost.reason as CliError) : undefined;
  // Once the reader has gone, no error can be shown; a full disk is still reported.
  if (lost?.exitCode === exitCodes.error) reportError(io, {}, lost, undefined);
  return lost?.exitCode ?? code;
}

async function runProgram(io: ShownIo): Promise<ExitCode> {
  let code: ExitCode = exitCodes.ok;
  const wrong: OutputOptions = { json: wantsJson(io.argv) };
  let refusal = '';
  try {
    refuseOtherBytes(io);
    const { argv, directory } = readCommandLine(io.argv, io.env, knownVerbs);
    if (directory !== undefined) changeDirectory(directory);
    const program = buildProgram(async (options, work, takesHost) => {
      code = await runCommand(io, options, work, takesHost);
    }, argv);
    forEachCommand(program, (command) =>
      command
        .exitOverride()
        .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => void (refusal += text) }),
    );
    refuseUnknownHelp(program, argv);
    await program.parseAsync([...normalizeArgv(helpOfSecondWord(program, argv), longFlags())], { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CliError) {
      reportError(io, wrong, error, undefined);
      return codeOf(error);
    }
    if (!(error instanceof CommanderError)) throw error;
    const isWrong = error.exitCode !== 0;
    if (isWrong && wrong.json === true)
      reportError(io, wrong, usageError(refusal.trim().replace(/^error: /, '')), undefined);
    else io.stderr.write(refusal);
    return isWrong ? exitCodes.usage : exitCodes.ok;
  }
}

/** Whether a command line that could not be read asks for --json, which keeps standard error empty. */
const wantsJson = (argv: readonly string[]): boolean =>
  argv.slice(0, argv.includes('--') ? argv.indexOf('--') : undefined).includes('--json');

/** Node replaces bytes that are not UTF-8: the server would store another value than the one that was given. */
function refuseOtherBytes({ argv, argvBytes }: CliIo): void {
  if (argvBytes === undefined || !argv.some((word) => word.includes('\uFFFD'))) return;
  const bytes = argvBytes();
  const word = argv.find((_, index) => !isUtf8(bytes[index] ?? Buffer.of()));
  if (word !== undefined)
    throw usageError(
      `the argument ${JSON.stringify(word)} has bytes that are not UTF-8: write such bytes into a file, and use gantry file push`,
    );
}

function changeDirectory(directory: string): void {
  try {
    process.chdir(directory);
  } catch (error) {
    throw usageError(`-chdir=${directory}: ${reasonOf(error)}`);
  }
}

function forEachCommand(program: Command, change: (command: Command) => void): void {
  change(program);
  for (const command of program.commands) forEachCommand(command, change);
}

async function runCommand(
  io: ShownIo,
  options: OutputOptions & ConnectOptions,
  work: (context: Context) => ReturnType<Run>,
  takesHost: boolean,
): Promise<ExitCode> {
  let opened: OpenedContext | undefined;
  try {
    const chosen = takesHost ? await chosenServer(options, io.env) : { options };
    opened = openContext(io, withEnvironment(chosen.options, io.env));
    if (chosen.current !== undefined && !opened.context.isJson) opened.context.note(chosen.current);
    const code = await work(opened.context);
    return typeof code === 'number' ? code : exitCodes.ok;
  } catch (thrown) {
    // An AbortError does not carry the reason of the interruption.
    const error = isAbort(thrown) && opened?.context.stop.aborted === true ? opened.context.stop.reason : thrown;
    if (!io.lost.aborted) reportError(io, options, error, opened?.context);
    return codeOf(error);
  } finally {
    opened?.close();
  }
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

function reportError(io: ShownIo, options: OutputOptions, error: unknown, context: Output | undefined): void {
  const text = messageOf(error);
  if (options.json === true) {
    const fields = { diagnostic: { severity: 'error', summary: text, detail: '' } };
    const atMs = io.nowMs();
    const line = jsonLine('diagnostic', text, fields, atMs, 'error');
    // Without a context the command line itself was wrong.
    if (context === undefined) io.stdout.write(`${versionLine(version, atMs)}\n${line}\n`);
    else context.json(line);
    return;
  }
  const paint = paintFor(colorOf(io, io.stderr, options.color !== false));
  io.stderr.write(`${paint.red('Error:')} ${text}\n`);
}
