// Runs a daemon of one's own for the length of a command: a child process in DIR, stopped at the end. Containers survive it.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { exitCodes } from './exit-codes.ts';
import { CliError } from './usage-error.ts';

export interface EmbeddedDaemon {
  /** unix://... */
  readonly host: string;
  /** As the daemon says: `lxc` or `sim`. */
  readonly runtime: string;
  stop(): Promise<void>;
}

const stopGraceMs = 30_000;
const errorTailBytes = 4096;

/** The entry of the daemon, beside this program; GANTRY_GANTRYD names another. */
export function daemonEntry(env: Readonly<Record<string, string | undefined>>): string {
  const named = env['GANTRY_GANTRYD'];
  if (named !== undefined && named !== '') return named;
  const candidates = ['./gantryd.js', '../../bin/gantryd.js'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) {
    throw new CliError(
      `--embedded: the daemon was not found at ${candidates.join(' or ')}; name it with GANTRY_GANTRYD`,
      exitCodes.unreachable,
    );
  }
  return found;
}

export async function startEmbedded(
  place: { readonly directory: string; readonly runtime?: string },
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<EmbeddedDaemon> {
  const entry = daemonEntry(env);
  const choice = place.runtime === undefined ? [] : ['--runtime', place.runtime];
  // A process group of its own: the terminal's Ctrl-C is for the CLI, which stops the daemon when it is done with it.
  const child = spawn(process.execPath, [entry, '--state-dir', place.directory, ...choice], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env },
  });
  // Whatever ends this process early must not leave a daemon behind that holds the directory.
  const kill = (): void => void child.kill('SIGTERM');
  process.once('exit', kill);
  const end = async (): Promise<void> => {
    await stop(child);
    process.off('exit', kill);
  };
  try {
    const ready = await readiness(child, entry, signal);
    child.stdout?.resume();
    return { ...ready, stop: end };
  } catch (error) {
    await end();
    throw error;
  }
}

function readiness(
  child: ChildProcess,
  entry: string,
  signal: AbortSignal,
): Promise<{ readonly host: string; readonly runtime: string }> {
  return new Promise((resolve, reject) => {
    let tail = '';
    const fail = (why: string): void =>
      reject(
        new CliError(`--embedded: ${entry} ${why}${tail === '' ? '' : `:\n${tail.trim()}`}`, exitCodes.unreachable),
      );
    child.stderr?.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.toString('utf8')).slice(-errorTailBytes);
    });
    child.once('error', (error) => fail(`could not be started (${error.message})`));
    // Not `exit`: what it said last may still be in the pipe.
    child.once('close', (code, killedBy) => fail(`ended with ${code ?? killedBy ?? 'no code'} before it was ready`));
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    if (child.stdout === null) return;
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => {
      const ready = parseReady(line);
      if (ready === undefined) return;
      lines.close();
      resolve(ready);
    });
  });
}

/** `{"type":"ready","socket":"/path","runtime":"sim"}`; undefined for any other line. */
export function parseReady(line: string): { readonly host: string; readonly runtime: string } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { type, socket, runtime } = value as Readonly<Record<string, unknown>>;
  if (type !== 'ready' || typeof socket !== 'string') return undefined;
  return { host: `unix://${socket}`, runtime: typeof runtime === 'string' ? runtime : 'unknown' };
}

function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), stopGraceMs);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill('SIGTERM');
  });
}
