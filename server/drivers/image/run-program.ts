// Runs the programs that unpack images on an open file; resolves only when they have ended, so that clean-up is safe.
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DriverError, driverErrors } from '../driver-error.ts';
import { confined, type ConfinedCommand } from '../../lib/confined.ts';
import { programEnv } from '../../lib/program-env.ts';
import { type StartedProgram, startProgram } from '../../lib/start-program.ts';

export interface Program {
  readonly stdout: Readable | null;
  /** Resolves on success; throws Failed or NoSpace with the program's last output, or the reason of the abort. */
  readonly done: Promise<void>;
  readonly kill: () => void;
}

export interface RunOptions {
  /** Open file for standard input; shares its position with the caller. */
  readonly inputFd?: number;
  /** Standard input instead of an open file. A program that ends before it has read all of it decides how the run ends. */
  readonly input?: AsyncIterable<Buffer>;
  readonly output: 'pipe' | 'ignore';
  /** A failure counts as success if the program reported nothing else: each line matches. */
  readonly tolerated?: RegExp;
}

/** A program ended by itself, with a failure. */
export class ProgramError extends DriverError {}

const keptStderrBytes = 65_536;

export function start(command: ConfinedCommand, options: RunOptions, signal: AbortSignal): Program {
  const [file = ''] = command.argv;
  const stdin = options.input === undefined ? (options.inputFd ?? 'ignore') : 'pipe';
  const stdio = [stdin, options.output, 'pipe'] as const;
  const child = startProgram({ argv: confined(command), stdio, env: programEnv });
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  const fed = feed(child, options.input, kill);
  const done = ended(child, file, options.tolerated, signal)
    .then(
      () => fed,
      async (error: unknown) => {
        await fed;
        throw error;
      },
    )
    .finally(() => {
      signal.removeEventListener('abort', kill);
    });
  // The caller may still read stdout when the program fails; it gets the error from `done`.
  done.catch(() => {});
  return { stdout: child.stdout, done, kill };
}

export async function run(command: ConfinedCommand, options: Omit<RunOptions, 'output'>, signal: AbortSignal) {
  await start(command, { ...options, output: 'ignore' }, signal).done;
}

/** Throws the error of the input, which ends the program. */
async function feed(
  { stdin }: StartedProgram,
  input: AsyncIterable<Buffer> | undefined,
  kill: () => void,
): Promise<void> {
  if (stdin === null || input === undefined) return;
  let failure: Error | undefined;
  async function* guarded(): AsyncGenerator<Buffer> {
    try {
      if (input !== undefined) yield* input;
    } catch (error) {
      failure = error as Error;
      kill();
      throw error;
    }
  }
  await pipeline(guarded(), stdin).catch(() => {});
  if (failure !== undefined) throw failure;
}

async function ended(
  child: StartedProgram,
  file: string,
  tolerated: RegExp | undefined,
  signal: AbortSignal,
): Promise<void> {
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < keptStderrBytes) stderr += text;
  });
  const { code, killedBy } = await new Promise<{ code: number | null; killedBy: string | null }>((resolve, reject) => {
    child.on('error', (error) => reject(driverErrors.failed(`cannot run ${file}`, error)));
    child.on('exit', (exitCode, exitSignal) => {
      // Reads what is in the pipe within this turn of the loop.
      setImmediate(() => resolve({ code: exitCode, killedBy: exitSignal }));
    });
  });
  child.stderr?.destroy();
  signal.throwIfAborted();
  if (code === 0 || (code !== null && isTolerated(stderr, tolerated))) return;
  const how = code === null ? `was killed by ${killedBy ?? 'a signal'}` : `failed with code ${code}`;
  // tar reports a short write before it notices a full disk.
  const isFull = /No space left on device|Disk quota exceeded|Wrote only \d+ of \d+ bytes/.test(stderr);
  const Reason = code === null ? DriverError : ProgramError;
  throw new Reason(isFull ? 'NoSpace' : 'Failed', `${file} ${how}: ${firstLines(stderr)}`);
}

function isTolerated(stderr: string, tolerated: RegExp | undefined): boolean {
  if (tolerated === undefined || stderr.length >= keptStderrBytes) return false;
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  return lines.length > 0 && lines.every((line) => tolerated.test(line));
}

function firstLines(text: string): string {
  return text.trim().split('\n').slice(0, 3).join('; ').slice(0, 500);
}
