// The git server of the suite: a process in its own process group, which dies together with its `git http-backend` processes.
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { buildEntries } from '../../support/build-daemon.ts';
import { freePort } from '../../support/hosts/free-port.ts';

const compiled = 'git-server-main.js';

export class GitProcess {
  readonly #root: string;
  readonly #program: string;
  readonly #port: number;
  #child: ChildProcess | undefined;

  private constructor(root: string, program: string, port: number) {
    this.#root = root;
    this.#program = program;
    this.#port = port;
  }

  /** `folder` gets the compiled program when this file runs uncompiled. */
  static async start(root: string, folder: string): Promise<GitProcess> {
    const isCompiled = import.meta.url.endsWith('.js');
    if (!isCompiled) buildEntries({ 'git-server-main': 'test/faults/controller/git-server-main.ts' }, folder);
    const program = isCompiled ? fileURLToPath(new URL(compiled, import.meta.url)) : `${folder}/${compiled}`;
    const server = new GitProcess(root, program, await freePort());
    await server.restart();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async restart(): Promise<void> {
    const args = [this.#program, this.#root, String(this.#port)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
    this.#child = child;
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', () => resolve());
      child.once('exit', (code) => reject(new Error(`the git server ended with ${code}`)));
    });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    process.kill(-child.pid, 'SIGKILL');
    await gone;
  }
}
