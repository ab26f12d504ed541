// A runtime without containers: the same states, events and errors as a real one, kept in small files. Needs no root and no Linux.
import type { SimDeps, SimRuntime } from './deps.ts';
import { SimProcesses } from './processes.ts';
import { checkLimits, checkRun } from './check-run.ts';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import { driverErrors } from '../../driver-error.ts';
import type { RunConfig, RuntimeExit, RuntimeMetrics, RuntimeProbe } from '../driver.ts';
import type { RuntimeCommand, RuntimeConsole, RuntimeProcess, TerminalSize } from '../command.ts';
import { type HostFacts } from '../cgroup/limits.ts';
import { mayBegin, tooLate } from '../guard/start-until.ts';
import { SimFaults } from './faults.ts';
import { appendConsole } from './console-log.ts';
import { SimLive } from './live-devices.ts';
import { linkMounts, unlinkMounts } from './mounts.ts';
import { simHost, simMetrics } from './metrics.ts';
import { startSimProcess } from './process.ts';
import { type SimRunningRecord, SimRecordFiles, type SimRunningRecords } from './running-record.ts';
import { SimCheckpoints } from './checkpoint.ts';
import { nextStop } from '../wait-exit.ts';

export type { SimDeps, SimRuntime } from './deps.ts';
export { SimFaults } from './faults.ts';
export { endWhileDown } from './running-record.ts';

export async function openSimRuntime(deps: SimDeps): Promise<SimRuntime> {
  return new Sim(deps);
}

const isInTime = ({ startUntilFile: file }: RunConfig): boolean => file === undefined || mayBegin(file);

/** Beyond the largest pid of any kernel: no real process can be signalled by mistake. */
const firstPid = 5_000_000;

class Sim implements SimRuntime {
  readonly name = 'sim';
  readonly version = '1';
  readonly rootfsIdmapped = true;
  readonly faults: SimFaults;
  readonly #deps: SimDeps;
  readonly #files: SimRunningRecords;
  readonly #live = new Map<string, SimRunningRecord>();
  readonly #mutex = new KeyedMutex();
  readonly #betweenBoots = new Set<(name: string) => Promise<void>>();
  readonly #listeners = new Set<(exit: RuntimeExit) => void>();
  readonly #processes = new SimProcesses((name) => this.#need(name).run);
  readonly live: SimLive;
  readonly checkpoints: SimCheckpoints;
  #lastPid = firstPid;
  #closed = false;

  constructor(deps: SimDeps) {
    this.#deps = deps;
    this.faults = deps.faults ?? new SimFaults();
    this.#files = deps.states ?? new SimRecordFiles(deps.dir);
    const book = {
      need: (name: string) => this.#need(name),
      remember: (state: SimRunningRecord) => this.#remember(state),
      lock: <T>(name: string, work: () => Promise<T>) => this.#mutex.run(name, work),
    };
    this.live = new SimLive(book, this.faults);
    this.checkpoints = new SimCheckpoints(
      {
        ...book,
        freeze: (name) => this.#remember({ ...this.#need(name), status: 'frozen' }),
        end: (name) => this.#mutex.run(name, async () => this.#end(name)),
        start: (run, signal, ageMs) => this.start(run, signal, ageMs),
        now: () => this.#now(),
      },
      this.faults,
    );
    for (const state of this.#files.readAll()) this.#lastPid = Math.max(this.#lastPid, state.initPid);
  }

  async recover(names: readonly string[]): Promise<void> {
    const saved = new Map(this.#files.readAll().map((state) => [state.run.name, state]));
    for (const name of names) {
      const state = saved.get(name);
      if (state === undefined || this.#live.has(name)) continue;
      await this.faults.pass('recover', name);
      const { unseen, ...rest } = state;
      this.#live.set(name, rest);
      // A crash may have come between these and the record.
      linkMounts(state.run);
      if (unseen === 'stop') this.#end(name);
      if (unseen === 'reboot') this.#begin(state.run, rest.limits, 'reboot');
    }
  }

  /** `ageMs`: resumes at that age instead of 0. */
  async start(run: RunConfig, signal: AbortSignal, ageMs?: number): Promise<{ readonly initPid: number }> {
    return this.#mutex.run(run.name, async () => {
      signal.throwIfAborted();
      if (this.#live.has(run.name)) throw driverErrors.inUse(`Container "${run.name}" is already running`);
      checkRun(run, this.#host());
      await this.faults.pass('start', run.name, signal);
      const fail = (reason: string): never => {
        throw driverErrors.failed(`Cannot start container "${run.name}"`, new Error(reason));
      };
      if (!existsSync(run.rootfs)) fail('its root file system is missing');
      if (this.faults.exitsAtOnce(run.name)) fail('its init ended at once');
      if (!isInTime(run)) fail(tooLate);
      const limits = Object.fromEntries(Object.entries(run.config).filter(([key]) => key.startsWith('limits.')));
      return { initPid: this.#begin({ properties: {}, ...run }, limits, undefined, ageMs).initPid };
    });
  }

  #begin(
    run: RunConfig,
    limits: Readonly<Record<string, string>>,
    announce?: 'reboot',
    ageMs?: number,
  ): SimRunningRecord {
    this.#lastPid++;
    this.#processes.killAll(run.name);
    appendConsole(
      join(run.logDir, 'console.log'),
      Buffer.from(ageMs === undefined ? 'sim: init started\n' : 'sim: init goes on\n'),
    );
    // Clients request it by name; nothing that could be logged fails here.
    writeFileSync(join(run.logDir, 'lxc.log'), '', { mode: 0o600 });
    const startedAt = this.#now() - (ageMs ?? 0);
    const state: SimRunningRecord = { run, status: 'running', initPid: this.#lastPid, startedAt, limits };
    this.#remember(state);
    linkMounts(run);
    if (announce !== undefined) this.#announce({ name: run.name, target: announce });
    return state;
  }

  #end(name: string): void {
    unlinkMounts(this.#need(name).run);
    this.#live.delete(name);
    this.#processes.killAll(name);
    this.#files.remove(name);
    this.#announce({ name, target: 'stop' });
  }

  async stop(
    name: string,
    options: { readonly force: boolean; readonly timeoutMs?: number },
    signal: AbortSignal,
  ): Promise<void> {
    this.#need(name);
    await this.faults.pass('stop', name, signal);
    const { wait } = await this.#mutex.run(name, async () => {
      const state = this.#need(name);
      if (!options.force && state.status === 'frozen') this.#remember({ ...state, status: 'running' });
      if (options.force || !this.faults.ignoresShutdown(name)) setImmediate(() => void this.#endSoon(name, state));
      return { wait: nextStop(this, name) };
    });
    await wait(options.timeoutMs, signal);
  }

  /** The exit comes a moment later, like a real one, and only if it is still the same run. */
  async #endSoon(name: string, state: SimRunningRecord): Promise<void> {
    await this.#mutex.run(name, async () => {
      if (!this.#closed && this.#live.get(name)?.initPid === state.initPid) this.#end(name);
    });
  }

  async poweroff(name: string): Promise<void> {
    await this.#mutex.run(name, async () => {
      this.#need(name);
      this.#end(name);
    });
  }

  async reboot(name: string): Promise<void> {
    await this.#mutex.run(name, async () => {
      const state = this.#need(name);
      for (const listener of this.#betweenBoots) await listener(name).catch(() => {});
      if (isInTime(state.run)) this.#begin(state.run, state.limits, 'reboot');
      else this.#end(name);
    });
  }

  async freeze(name: string): Promise<void> {
    await this.#setStatus(name, 'freeze', 'frozen');
  }

  async unfreeze(name: string): Promise<void> {
    await this.#setStatus(name, 'unfreeze', 'running');
  }

  async #setStatus(name: string, operation: 'freeze' | 'unfreeze', status: SimRunningRecord['status']): Promise<void> {
    await this.#mutex.run(name, async () => {
      this.#need(name);
      await this.faults.pass(operation, name);
      this.#remember({ ...this.#need(name), status });
    });
  }

  probe(name: string): RuntimeProbe {
    const state = this.#live.get(name);
    return state === undefined ? { status: 'stopped', initPid: 0 } : { status: state.status, initPid: state.initPid };
  }

  async metrics(name: string): Promise<RuntimeMetrics> {
    this.#need(name);
    await this.faults.pass('metrics', name);
    return simMetrics(this.#need(name), this.#now(), this.#deps.addressesOf ?? (() => []));
  }

  async updateLimits(name: string, config: Readonly<Record<string, string>>): Promise<void> {
    await this.#mutex.run(name, async () => {
      const state = this.#need(name);
      checkLimits(config, this.#host());
      await this.faults.pass('updateLimits', name);
      const limits = Object.fromEntries(Object.entries(config).filter(([key]) => key.startsWith('limits.')));
      this.#remember({ ...state, limits });
    });
  }

  async spawn(name: string, command: RuntimeCommand, signal: AbortSignal): Promise<RuntimeProcess> {
    const { run, status } = this.#need(name);
    if (command.argv.length === 0) throw driverErrors.invalid(`No command to run in container "${name}"`);
    if (status === 'frozen') {
      throw driverErrors.failed(`Cannot run a command in container "${name}"`, new Error('it is frozen'));
    }
    await this.faults.pass('exec', name, signal);
    return this.#processes.started(name, startSimProcess(command, run));
  }

  console(name: string, size: TerminalSize): RuntimeConsole {
    this.#need(name);
    return this.#processes.attach(name, size);
  }

  killPaths(name: string): readonly string[] {
    const file = this.#files.fileOf?.(name);
    return file === undefined ? [] : [file];
  }

  async forget(name: string): Promise<void> {
    await this.#mutex.run(name, async () => {
      if (this.#live.has(name)) throw driverErrors.inUse(`Container "${name}" is running`);
      await this.faults.pass('forget', name);
      this.#files.remove(name);
    });
  }

  runOf(name: string): RunConfig {
    return this.#need(name).run;
  }

  limits(name: string): Readonly<Record<string, string>> {
    return this.#need(name).limits;
  }

  betweenBoots(listener: (name: string) => Promise<void>): () => void {
    this.#betweenBoots.add(listener);
    return () => this.#betweenBoots.delete(listener);
  }

  onExit(listener: (exit: RuntimeExit) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#processes.close();
  }

  #announce(exit: RuntimeExit): void {
    if (this.#closed) return;
    for (const listener of this.#listeners) listener(exit);
  }

  #remember(state: SimRunningRecord): void {
    this.#live.set(state.run.name, state);
    this.#files.write(state);
  }

  #need(name: string): SimRunningRecord {
    const state = this.#live.get(name);
    if (state === undefined) throw driverErrors.notFound(`Container "${name}" is not running`);
    return state;
  }

  #host(): HostFacts {
    return this.#deps.host ?? simHost;
  }

  #now(): number {
    return this.#deps.now?.() ?? Date.now();
  }
}
