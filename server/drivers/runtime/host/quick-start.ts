// Starts programs for the whole daemon by posix_spawn, with pipes like those of Node's child processes.
import { EventEmitter } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { isMainThread } from 'node:worker_threads';
import type { ProgramPlan, ProgramStarter, StartedProgram, StartProgram, Stdio } from '../../../lib/start-program.ts';
import { codeOf, watchProgram } from './child-process.ts';
import type { Libc } from './syscalls.ts';
import { openPipe, pipeReader, pipeWriter } from './pipes.ts';
import { programIn } from '../../../lib/program-env.ts';

/** Undefined if libc cannot, and in worker threads, which learn of no exits. */
export function quickStart(libc: Libc): Required<ProgramStarter> | undefined {
  if (libc.posixSpawn === undefined || !isMainThread) return undefined;
  const start: StartProgram = (plan) => new QuickProgram(libc, plan);
  return {
    start,
    startPair: (first, second) => {
      const { reader, writer } = openPipe(libc);
      try {
        return [
          start({ ...first, stdio: [first.stdio[0], writer, first.stdio[2]] }),
          start({ ...second, stdio: [reader, second.stdio[1], second.stdio[2]] }),
        ];
      } finally {
        closeSync(writer);
        closeSync(reader);
      }
    },
  };
}

class QuickProgram extends EventEmitter implements StartedProgram {
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  #pid: number | undefined;

  constructor(libc: Libc, plan: ProgramPlan) {
    super();
    const ends = new Ends(libc);
    try {
      for (const [fd, stdio] of plan.stdio.entries()) ends.add(stdio, fd === 0 ? 'in' : 'out');
      this.#pid = start(libc, plan, ends.theirs);
      watchProgram(libc, this.#pid, (status) => this.#end(status));
    } catch (error) {
      // Output ends by itself, as that of a program that says nothing: a stream that breaks would hide the reason from its reader.
      ends.ours[0]?.destroy();
      process.nextTick(() => this.emit('error', error));
    } finally {
      ends.close();
    }
    const [stdin = null, stdout = null, stderr = null] = ends.ours;
    this.stdin = stdin as Writable | null;
    this.stdout = stdout as Readable | null;
    this.stderr = stderr as Readable | null;
  }

  /** Until it is reaped no other process can have its pid. */
  kill(): void {
    if (this.#pid !== undefined) process.kill(this.#pid, 'SIGKILL');
  }

  #end(status: number | undefined): void {
    this.#pid = undefined;
    const { code, killedBy } = endingOf(status);
    this.stdin?.destroy();
    this.emit('exit', code, killedBy);
    let open = 1;
    const closed = (): void => {
      open -= 1;
      if (open === 0) this.emit('close', code, killedBy);
    };
    for (const stream of [this.stdout, this.stderr]) {
      if (stream === null || stream.closed) continue;
      open += 1;
      stream.once('close', closed);
    }
    closed();
  }
}

/** The program's files; those opened for it are closed here once it has started. */
class Ends {
  readonly theirs: number[] = [];
  /** The daemon's ends of pipes; null if there is none. */
  readonly ours: (Readable | Writable | null)[] = [];
  readonly #libc: Libc;
  readonly #opened: number[] = [];

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  add(stdio: Stdio, way: 'in' | 'out'): void {
    if (stdio === 'pipe') return this.#addPipe(way);
    if (typeof stdio === 'number') this.theirs.push(stdio);
    else this.#keep(openSync('/dev/null', way === 'in' ? 'r' : 'w'));
    this.ours.push(null);
  }

  #addPipe(way: 'in' | 'out'): void {
    const { reader, writer } = openPipe(this.#libc);
    this.#keep(way === 'in' ? reader : writer);
    this.ours.push(way === 'in' ? pipeWriter(writer) : pipeReader(reader));
  }

  close(): void {
    for (const fd of this.#opened) closeSync(fd);
  }

  #keep(fd: number): void {
    this.theirs.push(fd);
    this.#opened.push(fd);
  }
}

function start({ posixSpawn }: Libc, { argv, env, cwd = '.' }: ProgramPlan, fds: readonly number[]): number {
  const [name = '', ...args] = argv;
  if (posixSpawn === undefined) throw new Error(`spawn ${name}: libc has no posix_spawn`);
  return posixSpawn({ file: fullPath(name, env['PATH'] ?? ''), args, env, cwd, fds });
}

function fullPath(name: string, path: string): string {
  if (name.includes('/')) return name;
  const found = programIn(path.split(':'), name);
  if (found === undefined) throw new Error(`spawn ${name} ENOENT`);
  return found;
}

/** The end of a child that other code has reaped is unknown: that is no success. */
function endingOf(status = 0xff00): { readonly code: number | null; readonly killedBy: NodeJS.Signals | null } {
  const signal = status & 0x7f;
  if (signal === 0) return { code: codeOf(status), killedBy: null };
  const [name] = Object.entries(constants.signals).find(([, number]) => number === signal) ?? [];
  return { code: null, killedBy: (name ?? 'SIGKILL') as NodeJS.Signals };
}
