// The daemon as a separate process, as it ships (bundled), so that a test can kill it at any moment.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Operation } from '../../../server/api/operation.ts';
import { buildDaemon } from '../cli/programs.ts';
import { call, type Json } from './daemon.ts';

export interface Bundle {
  readonly entry: string;
}

export const bundleDaemon = (): Bundle => ({ entry: buildDaemon() });

export interface ChildDaemon {
  readonly socketPath: string;
  /** HOST:PORT of the TLS listener. */
  readonly https: string | undefined;
  readonly runtime: string;
  readonly pid: number;
  /** Lines of standard error so far. */
  readonly log: string[];
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

export class DaemonFailed extends Error {}

/** Resolves when the daemon is ready. Throws DaemonFailed with its log if it exits first. It ends with this process. */
export async function startChild(
  bundle: Pick<Bundle, 'entry'> & {
    /** Words before the program, such as those of a network namespace. */ readonly run?: readonly string[];
  },
  stateDir: string,
  runtime: 'sim' | 'lxc',
  more: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<ChildDaemon> {
  const env: NodeJS.ProcessEnv = { ...process.env, ...environment };
  delete env['GANTRY_SQLITE_WORKER'];
  delete env['GANTRY_PARSE_WORKER'];
  const argv = [process.execPath, bundle.entry, '--state-dir', stateDir, '--runtime', runtime, ...more];
  const [file = '', ...words] = [...(bundle.run ?? []), ...argv];
  const child = spawn(file, words, { stdio: ['ignore', 'pipe', 'pipe'], env });
  const log: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  const killChild = (): void => void child.kill('SIGKILL');
  process.once('exit', killChild);
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('exit', (code, signal) => {
      process.off('exit', killChild);
      resolve({ code, signal });
    });
  });
  const ready = new Promise<Json>((resolve) =>
    createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line))),
  );
  const first = await Promise.race([ready, exited.then(() => undefined)]);
  if (first === undefined) throw new DaemonFailed(log.join('\n'));
  return {
    socketPath: first.socket as string,
    https: (first.https as string | null) ?? undefined,
    runtime: first.runtime as string,
    pid: child.pid!,
    log,
    exited,
    kill: async (signal) => {
      child.kill(signal);
      await exited;
    },
  };
}

/** Sends and, for a background operation, waits for its end. */
export async function settle(
  daemon: Pick<ChildDaemon, 'socketPath'>,
  method: string,
  path: string,
  body?: object | Buffer,
): Promise<{ status: number; operation?: Operation; metadata: Json }> {
  const answer = await call(daemon, method, path, body);
  if (answer.status !== 202 || answer.body?.type !== 'async')
    return { status: answer.status, metadata: answer.metadata };
  const ended = await call(daemon, 'GET', `${answer.body.operation}/wait`);
  if (ended.status !== 200) throw new Error(`waiting for ${path} answered ${ended.status}`);
  return { status: 202, operation: ended.metadata as Operation, metadata: ended.metadata };
}

export async function read(daemon: Pick<ChildDaemon, 'socketPath'>, path: string): Promise<Json> {
  const answer = await call(daemon, 'GET', path);
  if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.bytes.toString()}`);
  return answer.metadata;
}
