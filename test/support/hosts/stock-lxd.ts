// A stock LXD server for tests, where one is installed: private to the test, in a separate directory, ended by its pid. Knows nothing
// about the tests.
import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { call, type Answer, type Sent } from '../daemons/daemon.ts';
import { until } from '../until.ts';
import { unmountBelow } from './mounts.ts';
import { programRuns } from './program-runs.ts';

/** The reason why no LXD can be started here; undefined when it can. */
export function stockLxdMissing(): string | undefined {
  if (process.getuid?.() !== 0) return 'it needs root';
  if (!programRuns(['lxd', '--version'])) return 'lxd is not installed';
  return undefined;
}

export interface StockLxd {
  /** LXD_DIR. */
  readonly dir: string;
  readonly socketPath: string;
  call(method: string, path: string, body?: Sent, headers?: Record<string, string>): Promise<Answer>;
  /** `metadata` of an answer that must be 200. */
  // oxlint-disable-next-line typescript/no-explicit-any
  get(path: string): Promise<any>;
  /** Sends, waits for the operation when there is one, and needs success. */
  ok(method: string, path: string, body?: Sent, headers?: Record<string, string>): Promise<void>;
  /** Deletes containers, profiles and networks, ends the server, removes its mounts and files. */
  cleanUp(): Promise<void>;
  /** Kills the server and removes its mounts and files, for cluster members, the last of which no longer answer. */
  end(): Promise<void>;
}

/** `run`: words before the program, as for a host of a cluster. */
export async function startStockLxd(parent = tmpdir(), run: readonly string[] = []): Promise<StockLxd> {
  const folder = mkdtempSync(join(realpathSync(parent), 'gantry-lxd-'));
  // The root of a container needs access to the path.
  chmodSync(folder, 0o711);
  const dir = join(folder, 'lxd');
  mkdirSync(dir);
  // It lives shortly: fewer collections of garbage take a tenth less of the processor.
  const env = { ...process.env, LXD_DIR: dir, GOGC: '400' };
  // `env` becomes the program, with or without words before it.
  const child = spawn('env', [...run, 'lxd', '--logfile', join(folder, 'log')], {
    env,
    stdio: 'ignore',
    detached: true,
  });
  const socketPath = join(dir, 'unix.socket');
  const send: StockLxd['call'] = (method, path, body, headers) =>
    sendPatiently({ socketPath }, method, path, body, headers);
  const get: StockLxd['get'] = async (path) => {
    const answer = await send('GET', path);
    if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.bytes.toString()}`);
    return answer.metadata;
  };
  const ok: StockLxd['ok'] = async (method, path, body, headers) => {
    const answer = await send(method, path, body, headers);
    const failed = (what: unknown): Error => new Error(`${method} ${path}: ${JSON.stringify(what)}`);
    if (answer.status === 202) {
      const ended = (await get(`${String(answer.body.operation)}/wait`)) as { status_code: number; err: string };
      if (ended.status_code !== 200 && !isThere.test(ended.err)) throw failed(ended);
    } else if (answer.status >= 300) throw failed(answer.body);
  };
  const isUp = (): Promise<boolean> =>
    get('/1.0').then(
      () => true,
      () => false,
    );
  const endAll = async (signal: NodeJS.Signals): Promise<void> => {
    await end(child, signal);
    unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true });
  };
  const cleanUp = async (): Promise<void> => {
    try {
      if (child.exitCode === null && child.signalCode === null) await empty(send, get);
    } finally {
      await endAll('SIGTERM');
    }
  };
  try {
    await until(async () => existsSync(socketPath) && (await isUp()));
  } catch (error) {
    await cleanUp().catch(() => {});
    throw error;
  }
  return { dir, socketPath, call: send, get, ok, cleanUp, end: () => endAll('SIGKILL') };
}

/**
 * Sends a file when the server begins to read it. On a busy machine a slow database makes the server answer before that; such a request
 * is retried for some time.
 */
async function sendPatiently(
  wire: { readonly socketPath: string },
  method: string,
  path: string,
  body: Sent,
  headers: Record<string, string> = {},
): Promise<Answer> {
  if (!Buffer.isBuffer(body)) return call(wire, method, path, body, headers);
  const deadline = Date.now() + busyMs;
  for (;;) {
    try {
      const answer = await call(wire, method, path, body, { ...headers, expect: '100-continue' });
      if (answer.status < 500 || Date.now() > deadline) return answer;
    } catch (error) {
      // The server had begun to read.
      const isCut = ['EPIPE', 'ECONNRESET'].includes((error as NodeJS.ErrnoException).code ?? '');
      if (!isCut || Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const busyMs = 30_000;

/** What an upload that is retried meets where the server took the first one although it cut the connection. */
const isThere = /^Image with same fingerprint already exists$/;

/** The resources on the host that would outlast the server: processes of containers and bridges of networks. */
async function empty(send: StockLxd['call'], get: StockLxd['get']): Promise<void> {
  const run = async (method: string, path: string, body?: object): Promise<void> => {
    const answer = await send(method, path, body);
    if (answer.status === 202) await send('GET', `${String(answer.body.operation)}/wait`);
  };
  for (const url of (await get('/1.0/containers')) as string[]) {
    await run('PUT', `${url}/state`, { action: 'stop', force: true, timeout: 30 });
    await run('PATCH', url, { config: { 'security.protection.delete': '' } });
    await run('DELETE', url);
  }
  for (const url of (await get('/1.0/profiles')) as string[]) {
    await run(url.endsWith('/default') ? 'PUT' : 'DELETE', url, url.endsWith('/default') ? {} : undefined);
  }
  for (const { name, managed } of (await get('/1.0/networks?recursion=1')) as { name: string; managed: boolean }[]) {
    if (managed) await run('DELETE', `/1.0/networks/${name}`);
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}
