// The processes and consoles of simulated containers. A process ends with its container.
import { ConsoleHub } from '../exec/console-hub.ts';
import type { RunConfig } from '../driver.ts';
import type { RuntimeConsole, RuntimeProcess, TerminalSize } from '../command.ts';
import { appendConsole } from './console-log.ts';
import { join } from 'node:path';
import { startSimProcess } from './process.ts';

export class SimProcesses {
  readonly #processes = new Map<string, Set<RuntimeProcess>>();
  readonly #consoles: ConsoleHub;

  constructor(runOf: (name: string) => RunConfig) {
    this.#consoles = new ConsoleHub((name, size) => this.#openConsole(runOf(name), size));
  }

  attach(name: string, size: TerminalSize): RuntimeConsole {
    return this.#consoles.attach(name, size);
  }

  close(): void {
    this.#consoles.close();
    for (const name of this.#processes.keys()) this.killAll(name);
  }

  started(name: string, process: RuntimeProcess): RuntimeProcess {
    const processes = this.#processes.get(name) ?? new Set();
    this.#processes.set(name, processes.add(process));
    void process.exited.then(() => processes.delete(process));
    return process;
  }

  killAll(name: string): void {
    for (const process of this.#processes.get(name) ?? []) process.kill();
    this.#processes.delete(name);
  }

  #openConsole(run: RunConfig, size: TerminalSize): RuntimeProcess {
    const log = join(run.logDir, 'console.log');
    const onOutput = (chunk: Buffer): void => appendConsole(log, chunk);
    return this.started(
      run.name,
      startSimProcess({ argv: ['sh'], cwd: '/', stdio: { kind: 'terminal', size } }, { ...run, onOutput }),
    );
  }
}
