// Runs one command in a running container through lxc-attach, with captured output. For terminals and streams look elsewhere.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { DriverError } from '../driver-error.ts';
import type { RuntimeExecResult } from './driver.ts';
import { findProgram } from './lxc-host.ts';

export interface AttachTarget {
  readonly lxcPath: string;
  readonly key: string;
  readonly name: string;
}

export interface AttachOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 60_000;
const maxOutputBytes = 1024 * 1024;
const baseEnv: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
  USER: 'root',
  LANG: 'C.UTF-8',
};

/** Pure: the host command for a command in the container. */
export function attachArgv(
  target: AttachTarget,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string | undefined,
): readonly string[] {
  const variables = Object.entries({ ...baseEnv, ...env }).flatMap(([key, value]) => ['-v', `${key}=${value}`]);
  // lxc-attach has no option for a directory; a shell inside changes to it, with every word passed as it is.
  const inside = cwd === undefined ? argv : ['/bin/sh', '-c', 'cd -- "$0" && exec "$@"', cwd, ...argv];
  const quiet = ['-o', '/dev/null', '-l', 'FATAL'];
  return ['-P', target.lxcPath, '-n', target.key, ...quiet, '--clear-env', ...variables, '--', ...inside];
}

/** Resolves at the end of the command, also when something it started keeps its output open. */
export async function attachCommand(
  target: AttachTarget,
  argv: readonly string[],
  options: AttachOptions,
  signal: AbortSignal,
): Promise<RuntimeExecResult> {
  signal.throwIfAborted();
  if (argv.length === 0) throw new DriverError('Invalid', `No command to run in container "${target.name}"`);
  const child = spawn(
    findProgram('lxc-attach') ?? 'lxc-attach',
    attachArgv(target, argv, options.env ?? {}, options.cwd),
    // lxc-attach enters, inside, the directory it was started in.
    { env: {}, cwd: existsSync('/root') ? '/root' : '/', stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  const code = await untilExit(child, timeoutMs, signal, `${argv[0]} in container "${target.name}"`);
  child.stdout.destroy();
  child.stderr.destroy();
  return { exitCode: code, stdout: stdout(), stderr: stderr() };
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    if (size < maxOutputBytes) chunks.push(chunk);
    size += chunk.length;
  });
  stream.on('error', () => {});
  return () => Buffer.concat(chunks).subarray(0, maxOutputBytes).toString('utf8');
}

async function untilExit(child: ChildProcess, timeoutMs: number, signal: AbortSignal, what: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let failure: unknown;
    const give = (reason: unknown): void => {
      failure ??= reason;
      killInside(child);
    };
    const timer = setTimeout(
      () => give(new DriverError('Timeout', `${what} did not end in ${timeoutMs} ms`)),
      timeoutMs,
    );
    const aborted = (): void => give(signal.reason);
    signal.addEventListener('abort', aborted, { once: true });
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
    };
    child.on('error', (cause) => {
      done();
      reject(new DriverError('Failed', `Cannot run ${what}`, cause));
    });
    child.on('exit', (code) => {
      done();
      // What is in the pipes already is read before they are let go.
      setTimeout(() => {
        if (failure === undefined) resolve(code ?? 255);
        else reject(failure);
      }, 1);
    });
  });
}

/**
 * Killing lxc-attach alone would leave the command running: its child is the command. lxc-attach itself ends after its child and
 * collects it, so that no zombie keeps the container's control group; only a stuck one is killed.
 */
function killInside(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  const stuck = setTimeout(() => child.kill('SIGKILL'), 1_000);
  child.once('exit', () => clearTimeout(stuck));
  const inner = readChildren(pid);
  // Not that far yet: it has nothing to leave behind.
  if (inner.length === 0) child.kill('SIGKILL');
  for (const one of inner) {
    try {
      process.kill(one, 'SIGKILL');
    } catch {
      // Already gone.
    }
  }
}

function readChildren(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
