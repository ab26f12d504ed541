// Starts host programs: by Node's fork, or a faster way of the host. Does not wait for them.
import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** An open file, a pipe, or nothing. */
export type Stdio = 'ignore' | 'pipe' | number;

export interface ProgramPlan {
  readonly argv: readonly string[];
  /** A program without a path is searched in its PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** Default: this process's. */
  readonly cwd?: string | undefined;
  /** Descriptors 0, 1 and 2; it gets no others. */
  readonly stdio: readonly [Stdio, Stdio, Stdio];
}

/** The used part of Node's child processes, common to every way to start one. */
export interface StartedProgram {
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  kill(signal: 'SIGKILL'): unknown;
  /** `error`: it never ran. `close`: it has ended, and all of its output was read. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit' | 'close', listener: (code: number | null, killedBy: NodeJS.Signals | null) => void): unknown;
}

export type StartProgram = (plan: ProgramPlan) => StartedProgram;

const fork: StartProgram = ({ argv: [file = '', ...args], stdio, ...options }) =>
  spawn(file, args, { ...options, stdio: [...stdio] });

let quick: StartProgram | undefined;

export const startProgram: StartProgram = (plan) => (quick ?? fork)(plan);

/** Applies to later starts of this process; undefined: by fork. */
export function startProgramsBy(way: StartProgram | undefined): void {
  quick = way;
}
