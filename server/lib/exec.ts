// Runs a host program with an argv (never a shell line), a time limit and limited output.
import { confined, mortal, type Confinement } from './confined.ts';
import { programEnv } from './program-env.ts';
import { whenAborted } from './shared/abort-calls.ts';
import { startProgram } from './start-program.ts';

export interface ExecOptions {
  readonly input?: string | Uint8Array;
  /** Default `programEnv`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Default 30 s. The program gets SIGKILL at the limit. */
  readonly timeoutMs?: number;
  /** Whether it is killed with this process; default false. */
  readonly isMortal?: boolean;
  /** Its confinement; default none. */
  readonly confinement?: Confinement;
  /** Exit codes that count as success; default [0]. */
  readonly okCodes?: readonly number[];
  /** Limit of bytes kept of each stream; the rest is dropped. Default 1 MiB. */
  readonly maxBytes?: number;
}

export interface ExecResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The program could not be started, timed out, or ended with an unexpected code. The message names argv[0] and why. */
export class ExecError extends Error {
  override readonly name = 'ExecError';
  /** -1 if it never ran or a signal killed it. */
  readonly code: number;
  readonly stderr: string;
  /** Some programs write the reason of a failure here. */
  readonly stdout: string;
  constructor(message: string, code: number, stderr: string, stdout = '') {
    super(message);
    this.code = code;
    this.stderr = stderr;
    this.stdout = stdout;
  }
}

/** How long the pipes of a program may stay open after its exit. */
const closeGraceMs = 500;
/** How long a killed program is waited for. */
const killGraceMs = 30_000;

/** Settles when the program has ended and its output was read, also when it is told to stop. Throws ExecError. */
export async function exec(
  argv: readonly string[],
  options: ExecOptions = {},
  signal?: AbortSignal,
): Promise<ExecResult> {
  const [file] = argv;
  if (file === undefined) throw new ExecError('empty command', -1, '');
  const maxBytes = options.maxBytes ?? 1024 * 1024;
  const okCodes = options.okCodes ?? [0];
  return new Promise((resolve, reject) => {
    const child = startProgram({
      argv: startedAs(argv, options),
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      cwd: options.cwd,
      env: options.env ?? programEnv,
    });
    const out = collect(maxBytes);
    const err = collect(maxBytes);
    child.stdout?.on('data', out.push);
    child.stderr?.on('data', err.push);
    const { timeoutMs = 30_000 } = options;
    let stopped: string | undefined;
    const stop = (why: string): void => {
      stopped ??= why;
      child.kill('SIGKILL');
      // One that hangs in the kernel, as on a dead network disk, does not end by that: its caller would wait for ever, with its locks.
      setTimeout(() => end(null, 'SIGKILL'), killGraceMs).unref();
    };
    const timer = setTimeout(stop, timeoutMs, `did not finish in ${timeoutMs} ms`);
    const abort = (): void => stop(`was told to stop${becauseOf(signal?.reason)}`);
    const withdraw = signal && whenAborted(signal, abort);
    if (signal?.aborted === true) abort();
    child.on('error', ({ message }) => {
      clearTimeout(timer);
      withdraw?.();
      reject(new ExecError(`cannot run ${file}: ${message}`, -1, err.text()));
    });
    let ended = false;
    const end = (code: number | null, killedBy: NodeJS.Signals | null): void => {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      withdraw?.();
      child.stdout?.destroy();
      child.stderr?.destroy();
      const stderr = err.text();
      if (stopped !== undefined) {
        reject(new ExecError(`${file} ${stopped}`, -1, stderr));
      } else if (code === null || !okCodes.includes(code)) {
        const how = code === null ? `was killed by ${killedBy}` : `failed with code ${code}`;
        const message = `${file} ${how}${stderr === '' ? '' : `: ${stderr.trim()}`}`;
        reject(new ExecError(message, code ?? -1, stderr, out.text()));
      } else {
        resolve({ code, stdout: out.text(), stderr });
      }
    };
    // `close` comes after all output is read. A grandchild may keep the pipes open forever, so the exit ends the wait soon after.
    child.on('close', end);
    child.on('exit', (code, killedBy) => void setTimeout(end, closeGraceMs, code, killedBy));
    if (options.input !== undefined && child.stdin) {
      child.stdin.on('error', () => {}); // the program may end before reading all of its input; its exit code decides
      child.stdin.end(options.input);
    }
  });
}

/** An abort without a reason of its own has only the general one of the platform. */
function becauseOf(reason: unknown): string {
  return reason instanceof Error && reason.name !== 'AbortError' ? `: ${reason.message}` : '';
}

function startedAs(argv: readonly string[], { confinement, isMortal }: ExecOptions): readonly string[] {
  if (confinement !== undefined) return confined({ argv, confinement });
  return isMortal === true ? mortal(argv) : argv;
}

function collect(maxBytes: number): { push: (chunk: Buffer) => void; text: () => string } {
  const chunks: Buffer[] = [];
  let size = 0;
  return {
    push: (chunk) => {
      if (size < maxBytes) chunks.push(chunk);
      size += chunk.length;
    },
    text: () => Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8'),
  };
}
