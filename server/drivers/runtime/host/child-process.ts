// A program of the host: starts it and reports its end.
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import { findProgram } from './programs.ts';
import { isOutOfProcesses, type PosixSpawn, type SpawnPlan } from './posix-spawn.ts';
import type { Libc } from './syscalls.ts';

export interface HostChild {
  /** Undefined if it could not be started. */
  readonly pid: number | undefined;
  readonly isOver: boolean;
  /** Called once, never synchronously: its exit code, 128 plus the number of the signal that killed it, 127 if it never ran. */
  onEnd(this: void, listener: (code: number) => void): void;
  /** SIGKILL. */
  kill(this: void): void;
}

const neverRan = 127;
/** Its end is unknown. */
const unknown = 255;

export const signalNumber = (name: NodeJS.Signals | null): number => (name === null ? 0 : constants.signals[name]);

/** Throws if the host has no room for another process: an exit code would blame the program. Uses posix_spawn if possible: not in a worker
 *  thread, which gets no signals, and so no SIGCHLD. */
export function startChild(libc: Libc | undefined, plan: SpawnPlan): HostChild {
  const { posixSpawn } = libc ?? {};
  if (libc !== undefined && posixSpawn !== undefined && isMainThread) return new SpawnedChild(libc, posixSpawn, plan);
  const { file, args, env, cwd, fds, terminal } = plan;
  const [program, ...words] =
    terminal === undefined ? [file, ...args] : [findProgram('setsid') ?? 'setsid', '-c', file, ...args];
  return new ForkedChild(spawn(program, words, { env, cwd, stdio: [...fds] }));
}

class Ending {
  #code: number | undefined;
  readonly #listeners: ((code: number) => void)[] = [];

  get isOver(): boolean {
    return this.#code !== undefined;
  }

  readonly onEnd = (listener: (code: number) => void): void => {
    this.#listeners.push(listener);
  };

  end(code: number): void {
    if (this.#code !== undefined) return;
    this.#code = code;
    for (const listener of this.#listeners) listener(code);
  }
}

export class ForkedChild extends Ending implements HostChild {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    super();
    this.#child = child;
    child.once('error', () => this.end(neverRan));
    child.once('exit', (code, signal) => this.end(code ?? 128 + signalNumber(signal)));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  readonly kill = (): void => void this.#child.kill('SIGKILL');
}

class SpawnedChild extends Ending implements HostChild {
  readonly pid: number | undefined;

  constructor(libc: Libc, posixSpawn: PosixSpawn, plan: SpawnPlan) {
    super();
    try {
      this.pid = posixSpawn(plan);
      watchProgram(libc, this.pid, (status) => this.end(status === undefined ? unknown : codeOf(status)));
    } catch (error) {
      if (isOutOfProcesses(error)) throw error;
      this.pid = undefined;
      setImmediate(() => this.end(neverRan));
    }
  }

  /** Until it is reaped no other process can have its pid. */
  readonly kill = (): void => {
    if (this.pid !== undefined && !this.isOver) process.kill(this.pid, 'SIGKILL');
  };
}

/** The kernel's status word; undefined if other code in this process has reaped it. */
type EndListener = (status: number | undefined) => void;

const running = new Map<number, EndListener>();
const noWait = 1;
const lookMs = 1_000;
let timer: NodeJS.Timeout | undefined;
let isListening = false;

/** Node reaps only its own children, each by pid, and so does this. A running one keeps the process alive. */
export function watchProgram(libc: Libc, pid: number, ended: EndListener): void {
  running.set(pid, ended);
  timer ??= setInterval(collect, lookMs, libc);
  if (!isListening) process.on('SIGCHLD', () => collect(libc));
  isListening = true;
}

function collect(libc: Libc): void {
  const status = new Int32Array(1);
  for (const [pid, ended] of running) {
    const found = libc.waitpid(pid, status, noWait);
    if (found === 0) continue;
    running.delete(pid);
    ended(found === pid ? (status[0] ?? 0) : undefined);
  }
  if (running.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

/** From the kernel's status word, whose low seven bits are the signal that ended it. Pure. */
export function codeOf(status: number): number {
  const signal = status & 0x7f;
  return signal === 0 ? (status >> 8) & 0xff : 128 + signal;
}
