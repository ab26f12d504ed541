// gantryd as a process: started, killed, restarted on one state directory. remains.ts handles its leftovers on the host.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild, type ChildDaemon } from './child-process.ts';
import { call, type Answer, type Sent } from './daemon.ts';
import { plainEnv, type Programs } from '../cli/programs.ts';

export interface GantrydOptions {
  readonly runtime: 'lxc' | 'sim';
  readonly dir?: string;
  readonly https?: string;
  readonly flags?: readonly string[];
  /** Words before the program, such as those of a network namespace. */
  readonly run?: readonly string[];
  /** Added to a small environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Start with `startGantryd`; end with `remove` of remains.ts, or `stop` when nothing was made on the host. */
export class Gantryd {
  readonly dir: string;
  readonly socketPath: string;
  readonly host: string;
  https: string | undefined;
  readonly #programs: Pick<Programs, 'gantryd'>;
  readonly #options: GantrydOptions;
  #child: ChildDaemon | undefined;
  /** Output of earlier processes. */
  #earlierLog = '';

  constructor(programs: Pick<Programs, 'gantryd'>, options: GantrydOptions) {
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

  /** Freezes or continues the process. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#child !== undefined) process.kill(this.#child.pid, signal);
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Standard error of all its processes. */
  get log(): string {
    return `${this.#earlierLog}${this.#child?.log.join('\n') ?? ''}`;
  }

  async start(): Promise<this> {
    const { runtime, https, flags = [], run = [], env = {} } = this.#options;
    const more = [...(https === undefined ? [] : ['--https', https]), ...flags];
    const program = { entry: this.#programs.gantryd, run };
    const child = await startChild(program, this.dir, runtime, more, { ...plainEnv(), ...env });
    this.#child = child;
    void child.exited.then(() => this.#forget(child));
    if (child.runtime !== runtime) throw new Error(`gantryd took the runtime ${child.runtime}`);
    this.https = child.https;
    return this;
  }

  /** Sends SIGKILL. Resolves when the process has ended. */
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
    await child?.kill(signal);
    if (child !== undefined) this.#forget(child);
  }

  #forget(child: ChildDaemon): void {
    if (this.#child !== child) return;
    this.#earlierLog = `${this.log}\n`;
    this.#child = undefined;
  }
}

export async function startGantryd(programs: Pick<Programs, 'gantryd'>, options: GantrydOptions): Promise<Gantryd> {
  const gantryd = new Gantryd(programs, options);
  try {
    return await gantryd.start();
  } catch (error) {
    if (options.dir === undefined) rmSync(gantryd.dir, { recursive: true, force: true });
    throw error;
  }
}
