// gantryd as a process: started, killed, restarted on one state directory. What it leaves on the host is remains.ts.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { call, type Answer, type Sent } from './daemon.ts';
import { plainEnv, type Programs } from '../cli/programs.ts';

export interface GantrydOptions {
  readonly runtime: 'lxc' | 'sim';
  readonly dir?: string;
  readonly https?: string;
}

interface Ready {
  readonly socket: string;
  readonly https: string | null;
  readonly runtime: string;
}

/** Start with `startGantryd`; end with `remove` of remains.ts, or `stop` when nothing was made on the host. */
export class Gantryd {
  readonly dir: string;
  readonly socketPath: string;
  readonly host: string;
  https: string | undefined;
  /** Everything it said on standard error, over all its lives. */
  log = '';
  readonly #programs: Programs;
  readonly #options: GantrydOptions;
  #child: ChildProcess | undefined;

  constructor(programs: Programs, options: GantrydOptions) {
    this.#programs = programs;
    this.#options = options;
    this.dir = options.dir ?? mkdtempSync(join(realpathSync(tmpdir()), 'gted-'));
    this.socketPath = join(this.dir, 'unix.socket');
    this.host = `unix://${this.socketPath}`;
  }

  get runtime(): 'lxc' | 'sim' {
    return this.#options.runtime;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  async start(): Promise<this> {
    const { runtime, https } = this.#options;
    const listen = https === undefined ? [] : ['--https', https];
    const argv = [this.#programs.gantryd, '--state-dir', this.dir, '--runtime', runtime, ...listen];
    const child = spawn(process.execPath, argv, { env: plainEnv(), stdio: ['ignore', 'pipe', 'pipe'] });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (this.log += chunk));
    // A test that ends early must not leave it behind.
    const kill = (): void => void child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => {
      process.off('exit', kill);
      if (this.#child === child) this.#child = undefined;
    });
    this.#child = child;
    for await (const line of createInterface({ input: child.stdout })) {
      const ready = JSON.parse(line) as Ready;
      if (ready.runtime !== runtime) throw new Error(`gantryd took the runtime ${ready.runtime}`);
      this.https = ready.https ?? undefined;
      child.stdout.resume();
      return this;
    }
    throw new Error(`gantryd ended before it was ready:\n${this.log}`);
  }

  /** As a power cut of the process: SIGKILL. Resolves when it is gone. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  call(method: string, path: string, body?: Sent, headers?: Record<string, string>): Promise<Answer> {
    return call({ socketPath: this.socketPath }, method, path, body, headers);
  }

  /** `metadata` of an answer that must be 200. */
  // oxlint-disable-next-line typescript/no-explicit-any
  async get(path: string): Promise<any> {
    const answer = await this.call('GET', path);
    if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.bytes.toString()}`);
    return answer.metadata;
  }

  async patch(path: string, body: object): Promise<void> {
    const answer = await this.call('PATCH', path, body);
    if (answer.status !== 200) throw new Error(`PATCH ${path} answered ${answer.status}: ${answer.bytes.toString()}`);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }
}

export async function startGantryd(programs: Programs, options: GantrydOptions): Promise<Gantryd> {
  const gantryd = new Gantryd(programs, options);
  try {
    return await gantryd.start();
  } catch (error) {
    if (options.dir === undefined) rmSync(gantryd.dir, { recursive: true, force: true });
    throw error;
  }
}
