// Supervises the etcd of this host: starts it with the daemon, restarts it when it ends, ends it with the daemon, however that ends.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, rm, writeFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { mortal } from '../../lib/confined.ts';
import type { Log } from '../../lib/log.ts';
import { pause } from '../../lib/shared/deadline.ts';
import { etcdFlags, type EtcdStart } from './etcd-flags.ts';
import { endReason, EtcdLog, readEtcdLine, type EndReason, type EtcdLine } from './etcd-log.ts';
import { findEtcd, type EtcdProgram } from './etcd-program.ts';

export interface EtcdProcessOptions {
  readonly log: Log;
  /** The program; default: the one of PATH. */
  readonly etcdPath?: string;
  readonly firstPauseMs?: number;
}

export interface EtcdProcessStatus {
  /** `failed`: it is not restarted, see `reason`. */
  readonly state: 'stopped' | 'running' | 'waiting' | 'failed';
  readonly pid: number | undefined;
  readonly version: string | undefined;
  /** Since `start`. */
  readonly restarts: number;
  /** Why it last ended. */
  readonly reason: string | undefined;
}

/** A run of this length resets the count of failures. */
const steadyMs = 60_000;
const longestPauseMs = 30_000;
const stopMs = 10_000;
const keptLines = 100;
/** etcd has read its data, found its cluster, and listens. */
const runsLine = 'now serving peer/client/metrics';

/** The pause before a restart after this many failures in a row. */
export const restartPauseMs = (failures: number, firstMs: number): number =>
  Math.min(longestPauseMs, firstMs * 2 ** Math.min(failures - 1, 16));

export class EtcdProcess {
  readonly #options: EtcdProcessOptions;
  readonly #log: EtcdLog;
  #status: EtcdProcessStatus = { state: 'stopped', pid: undefined, version: undefined, restarts: 0, reason: undefined };
  #child: ChildProcess | undefined;
  #stopping = new AbortController();
  #supervised: Promise<void> | undefined;
  /** Called once it runs, or with the reason why it ended. */
  #onFirst: (reason: EndReason | undefined) => void = () => {};

  constructor(options: EtcdProcessOptions) {
    this.#options = options;
    this.#log = new EtcdLog(options.log);
  }

  get status(): EtcdProcessStatus {
    return this.#status;
  }

  /** Resolves when it runs; it serves once a majority of its cluster runs. Throws with the reason if it ends before. */
  async start(start: EtcdStart): Promise<void> {
    await this.#launch(start);
    const reason = await new Promise<EndReason | undefined>((resolve) => {
      this.#onFirst = resolve;
    });
    if (reason === undefined) return;
    await this.stop();
    throw new Error(`etcd cannot run here: ${reason.text}`);
  }

  /** Like `start`, but does not wait and keeps retrying: for a member whose cluster runs without it. */
  async keepRunning(start: EtcdStart): Promise<void> {
    await this.#launch(start);
  }

  /** Idempotent. A leading etcd hands over by itself. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#end();
    await this.#supervised;
    this.#supervised = undefined;
    this.#set({ state: 'stopped', pid: undefined });
  }

  async #launch(start: EtcdStart): Promise<void> {
    if (this.#supervised !== undefined) throw new Error('etcd was started already');
    const program = await findEtcd(this.#options.etcdPath);
    await mkdir(start.dir, { recursive: true, mode: 0o700 });
    await chmod(start.dir, 0o700);
    await endLeftover(pidFile(start), dataDir(start));
    this.#stopping = new AbortController();
    this.#set({ state: 'running', version: program.version, restarts: 0, reason: undefined });
    this.#supervised = this.#supervise(program, start);
  }

  async #supervise(program: EtcdProgram, start: EtcdStart): Promise<void> {
    for (let failures = 0; !this.#stopping.signal.aborted;) {
      const startedAt = performance.now();
      const reason = await this.#run(program, start);
      this.#onFirst(reason);
      if (this.#stopping.signal.aborted) return;
      failures = performance.now() - startedAt > steadyMs ? 1 : failures + 1;
      const pauseMs = restartPauseMs(failures, this.#options.firstPauseMs ?? 500);
      const next = reason.isFinal ? 'it is not started again' : `it is started again in ${pauseMs / 1000} s`;
      this.#options.log.error(`The etcd of this host has ended: ${reason.text}; ${next}`);
      this.#set({ state: reason.isFinal ? 'failed' : 'waiting', pid: undefined, reason: reason.text });
      if (reason.isFinal) return;
      await pause(pauseMs, this.#stopping.signal).catch(() => {});
      this.#set({ restarts: this.#status.restarts + 1 });
    }
  }

  async #run(program: EtcdProgram, start: EtcdStart): Promise<EndReason> {
    const [file = program.path, ...args] = mortal([
      program.path,
      ...etcdFlags({ ...start, dir: dataDir(start) }, program.version),
    ]);
    const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: start.dir, env: ownEnvironment() });
    this.#child = child;
    const lines: EtcdLine[] = [];
    const reader = createInterface({ input: child.stderr });
    reader.on('line', (text) => {
      const line = readEtcdLine(text);
      if (lines.push(line) > keptLines) lines.shift();
      this.#log.write(line, performance.now());
      if (line.kind === runsLine) this.#onFirst(undefined);
    });
    try {
      const ended = once(child, 'close');
      if (child.pid !== undefined) {
        this.#set({ state: 'running', pid: child.pid });
        await writeFile(pidFile(start), String(child.pid), { mode: 0o600 }).catch(() => {});
      }
      // The start was aborted while the process was spawned.
      if (this.#stopping.signal.aborted) void this.#end();
      const [code, signal] = (await ended) as [number | null, string | null];
      await rm(pidFile(start), { force: true }).catch(() => {});
      return endReason(code, signal, lines);
    } catch (error) {
      return { text: `it cannot be run: ${String(error)}`, isFinal: false };
    } finally {
      this.#child = undefined;
      reader.close();
    }
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), stopMs);
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit').catch(() => {});
    clearTimeout(timer);
  }

  #set(change: Partial<EtcdProcessStatus>): void {
    this.#status = { ...this.#status, ...change };
  }
}

const dataDir = ({ dir }: EtcdStart): string => join(dir, 'data');
const pidFile = ({ dir }: EtcdStart): string => join(dir, 'etcd.pid');

/** etcd takes every flag from the environment, too: those of the daemon's caller must not reach it. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('ETCD'));
  // etcd 3.4 refuses to run on this architecture without it.
  const unsupported = process.arch === 'arm64' ? { ETCD_UNSUPPORTED_ARCH: 'arm64' } : {};
  return { ...Object.fromEntries(kept), ...unsupported };
}

/** Ends an etcd that an earlier daemon left behind: where the host cannot end programs with their parent, it would keep the data locked. */
const killAfterMs = 5_000;
const lookAgainMs = 50;

/** Ends only a process that still uses this data. */
async function endLeftover(pidFile: string, dataDir: string): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  const end = performance.now() + killAfterMs;
  for (let round = 0; await worksOn(pid, dataDir); round += 1) {
    if (round === 0) signal(pid, 'SIGTERM');
    else if (performance.now() > end) signal(pid, 'SIGKILL');
    await pause(lookAgainMs, undefined);
  }
  await rm(pidFile, { force: true });
}

async function worksOn(pid: number, dataDir: string): Promise<boolean> {
  if (!Number.isInteger(pid) || pid <= 1) return false;
  const args = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return args.split('\0').includes(`--data-dir=${dataDir}`);
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended since.
  }
}
