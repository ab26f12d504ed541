// Notices that a container ended or rebooted, cleans up and announces it. A hook of LXC wakes it; a sweep catches the rest.
import { unloadProfile } from '../apparmor/load.ts';
import type { CpuSets } from '../cgroup/cpu-sets.ts';
import type { ExitSpool } from './exit-spool.ts';
import type { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import type { LiveDeps } from './device-actions.ts';
import type { LxcLive } from './live-devices.ts';
import type { ModulePaths } from '../host/kernel-modules.ts';
import { type RunningRecord, removeRunningRecord } from './running-record.ts';
import type { RuntimeExit } from '../driver.ts';
import { awaitOutcome, awaitRunning, clearRemains, hasMonitor, isAlive } from './liveness.ts';
import { clearKeys, restoreLimits } from './live-keys.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { unmountFiles } from '../mounts/container-files.ts';

const sweepMs = 1_000;
/** Without a monitor no hook reports an exit. */
const orphanSweepMs = 100;

export interface ExitDeps extends LiveDeps {
  readonly modules: ModulePaths | undefined;
}

export interface ExitParts {
  readonly running: Map<string, RunningRecord>;
  readonly mutex: KeyedMutex;
  readonly spool: ExitSpool;
  readonly cpus: CpuSets;
  readonly devices: LxcLive;
  remember(state: RunningRecord): void;
}

export class Exits {
  readonly #deps: ExitDeps;
  readonly #parts: ExitParts;
  readonly #listeners = new Set<(exit: RuntimeExit) => void>();
  #sweeper: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(deps: ExitDeps, parts: ExitParts) {
    this.#deps = deps;
    this.#parts = parts;
    parts.spool.start(
      (key) => this.#wake(key),
      (error) => deps.log.warn('cannot watch for exits, falling back to polling', { reason: errorText(error) }),
    );
    this.#scheduleSweep();
  }

  onExit(listener: (exit: RuntimeExit) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#sweeper);
    this.#parts.spool.close();
  }

  /** Called when something may have ended: handles it unless a live init proves the hint stale. */
  #wake(key: string): void {
    const name = [...this.#parts.running.keys()].find((one) => this.#deps.paths.key(one) === key);
    if (name === undefined) return;
    void this.#parts.mutex
      .run(name, async () => {
        const state = this.#parts.running.get(name);
        if (state !== undefined && !isAlive(state) && !this.#closed) await this.handleEnd(state);
      })
      .catch((error: unknown) =>
        this.#deps.log.error('cannot deal with an exit', { container: name, reason: errorText(error) }),
      );
  }

  /** The container's init is dead: waits for a new init or the end, cleans up, calls the listeners. */
  async handleEnd(state: RunningRecord): Promise<void> {
    const { tree, paths, log } = this.#deps;
    const key = paths.key(state.name);
    const between = (): Promise<void> => this.#parts.spool.answer(key, state.name, log);
    const outcome = await awaitOutcome(tree, paths.group(state.name), state, between);
    this.#parts.spool.discard(key);
    if (outcome.kind === 'reboot') {
      await awaitRunning(paths, state.name, outcome.init);
      const reborn = { ...state, initPid: outcome.init.pid, initStartTime: outcome.init.startTime };
      this.#parts.remember(reborn);
      await this.#parts.devices.afterReboot(reborn);
      restoreLimits(this.#deps, this.#parts.cpus, state);
      this.announce({ name: state.name, target: 'reboot' });
      return;
    }
    await this.#parts.devices.afterStop(state);
    await clearKeys(this.#deps, state);
    await clearRemains(tree, paths, state, log);
    unmountFiles(this.#deps, state.name);
    unloadProfile(paths.apparmorName(state.name));
    this.#parts.running.delete(state.name);
    this.#parts.cpus.release(state.name);
    removeRunningRecord(paths.stateFile(state.name));
    this.announce({ name: state.name, target: 'stop' });
  }

  announce(exit: RuntimeExit): void {
    if (this.#closed) return;
    for (const listener of this.#listeners) {
      try {
        listener(exit);
      } catch (error) {
        this.#deps.log.error('a listener for exits failed', { container: exit.name, reason: errorText(error) });
      }
    }
  }

  /** Catches exits that no hook reported. */
  #scheduleSweep(): void {
    if (this.#closed) return;
    const orphans = [...this.#parts.running.values()].some((state) => !hasMonitor(state));
    this.#sweeper = setTimeout(
      () => {
        this.#parts.cpus.distributeIfChanged();
        for (const state of this.#parts.running.values()) {
          if (!isAlive(state)) this.#wake(this.#deps.paths.key(state.name));
        }
        this.#scheduleSweep();
      },
      orphans ? orphanSweepMs : sweepMs,
    );
    this.#sweeper.unref();
  }
}
