// Starts host programs: by Node's fork, or a faster way of the host. Does not wait for them.
import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** An open file, a pipe, or nothing. */
export type Stdio = 'ignore' | 'pipe' | number;

export interface ProgramPlan<In extends Stdio = Stdio, Out extends Stdio = Stdio, Err extends Stdio = Stdio> {
  readonly argv: readonly string[];
  /** A program without a path is searched in its PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** Default: this process's. */
  readonly cwd?: string | undefined;
  /** Descriptors 0, 1 and 2; it gets no others. */
  readonly stdio: readonly [In, Out, Err];
}

/** The used part of Node's child processes, common to every way to start one. */
export interface StartedProgram<In = Writable | null, Out = Readable | null, Err = Readable | null> {
  readonly stdin: In;
  readonly stdout: Out;
  readonly stderr: Err;
  kill(signal: 'SIGKILL'): unknown;
  /** `error`: it never ran. `close`: it has ended, and all of its output was read. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit' | 'close', listener: (code: number | null, killedBy: NodeJS.Signals | null) => void): unknown;
}

export type StartProgram = (plan: ProgramPlan) => StartedProgram;

export interface ProgramStarter {
  readonly start: StartProgram;
  /** The second reads what the first writes, whatever descriptors their plans name there. Default: by Node's fork. */
  readonly startPair?: (first: ProgramPlan, second: ProgramPlan) => readonly [StartedProgram, StartedProgram];
}

const fork = ({ argv: [file = '', ...args], ...options }: ProgramPlan, stdio: StdioOptions): ChildProcess =>
  spawn(file, args, { ...options, stdio });

const forkPair = (first: ProgramPlan, second: ProgramPlan): readonly [StartedProgram, StartedProgram] => {
  const writer = fork(first, [first.stdio[0], 'pipe', first.stdio[2]]);
  const reader = fork(second, [writer.stdout, second.stdio[1], second.stdio[2]]);
  // Our end of the pipe keeps the writer waiting for ever when the reader is gone.
  reader.once('exit', () => writer.stdout?.destroy());
  return [writer, reader];
};

const byFork: Required<ProgramStarter> = { start: (plan) => fork(plan, [...plan.stdio]), startPair: forkPair };

let quick: ProgramStarter | undefined;

/** This process's end of a pipe, if there is one. */
type End<S extends Stdio, Stream> = 'pipe' extends S ? (S extends 'pipe' ? Stream : Stream | null) : null;

export function startProgram<In extends Stdio, Out extends Stdio, Err extends Stdio>(
  plan: ProgramPlan<In, Out, Err>,
): StartedProgram<End<In, Writable>, End<Out, Readable>, End<Err, Readable>> {
  return (quick ?? byFork).start(plan) as ReturnType<typeof startProgram<In, Out, Err>>;
}

/** Two programs, of which the second reads what the first writes. */
export function startPair(first: ProgramPlan, second: ProgramPlan): readonly [StartedProgram, StartedProgram] {
  return (quick?.startPair ?? byFork.startPair)(first, second);
}

/** Applies to later starts of this process; undefined: by fork. */
export function startProgramsBy(way: ProgramStarter | undefined): void {
  quick = way;
}
