// The LXC runtime: starts, stops and changes containers with LXC's tools. Reads and live changes go straight to the kernel.
import { existsSync } from 'node:fs';
import { Exits } from './exits.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import { driverErrors } from '../../driver-error.ts';
import { endOrphans } from '../exec/attach.ts';
import { type CgroupTree, isFrozen, removeGroup, setFrozen } from '../cgroup/cgroup.ts';
import { ConsoleHub } from '../exec/console-hub.ts';
import type {
  HostFeature,
  FileView,
  RunConfig,
  RuntimeDriver,
  RuntimeExit,
  RuntimeMetrics,
  RuntimePeer,
  RuntimeProbe,
} from '../driver.ts';
import type { PreparedCommand, RuntimeCommand, RuntimeConsole, TerminalSize } from '../command.ts';
import { viewThrough } from '../mounts/file-view.ts';
import { ExitSpool, type BetweenBoots } from './exit-spool.ts';
import { GroupMoves } from '../cgroup/group-moves.ts';
import { requestShutdown } from './halt-signal.ts';
import { applyKeys } from './live-keys.ts';
import { findRemains, isAlive, killPathsOf, makeReceptive, removeEmptyPlaces } from './liveness.ts';
import { LxcCommands } from './spawn.ts';
import type { ModulePaths } from '../host/kernel-modules.ts';
import { LxcLive } from './live-devices.ts';
import { canMapAt, type FileDeps, removeContainerDir } from '../mounts/container-files.ts';
import { openLxcConsole } from './console.ts';
import { recoverRun } from './recover.ts';
import { type Launch, startContainer } from './start.ts';
import { LxcCheckpoints } from './checkpoints.ts';
import { CpuSets } from '../cgroup/cpu-sets.ts';
import type { CheckpointPrograms } from '../checkpoint/criu.ts';
import { readMetrics } from '../cgroup/metrics.ts';
import type { NftTables } from '../../nft-tables.ts';
import type { NicFilters } from '../nic/filters.ts';
import { rejoinBridge } from '../nic/plug.ts';
import { nicsOf, restoreHostSide } from './host-side.ts';
import { started, type RunningRecord, writeRunningRecord } from './running-record.ts';
import { ConcurrencyLimit } from '../../../lib/shared/concurrency-limit.ts';
import { peerOf } from '../host/socket-peer.ts';
import { nextStop } from '../wait-exit.ts';

const startsAtOnce = 8;
const freezeTimeoutMs = 10_000;
/** Max time for the kernel to end killed processes. */
const killTimeoutMs = 30_000;

export interface RuntimeDeps extends FileDeps {
  readonly modules: ModulePaths | undefined;
  readonly tree: CgroupTree;
  readonly filters: NicFilters;
  readonly tables: NftTables;
  readonly version: string;
  readonly programs: CheckpointPrograms | undefined;
  readonly missing: readonly HostFeature[];
}

export class LxcRuntime implements RuntimeDriver {
  readonly name = 'lxc';
  readonly version: string;
  readonly rootfsIdmapped: boolean;
  readonly missing: readonly HostFeature[];
  readonly #deps: RuntimeDeps;
  readonly #live = new Map<string, RunningRecord>();
  readonly #mutex = new KeyedMutex();
  readonly #starts = new ConcurrencyLimit(startsAtOnce);
  readonly #spool: ExitSpool;
  readonly #consoles: ConsoleHub;
  readonly #cpus: CpuSets;
  readonly #commands: LxcCommands;
  readonly #moves: GroupMoves;
  readonly live: LxcLive;
  readonly checkpoints: LxcCheckpoints;
  readonly #exits: Exits;

  constructor(deps: RuntimeDeps) {
    this.#deps = deps;
    this.version = deps.version;
    this.rootfsIdmapped = deps.rootfsIdmapped;
    this.missing = deps.missing;
    this.#spool = new ExitSpool(deps.paths.exits);
    this.#cpus = new CpuSets(deps);
    this.#consoles = new ConsoleHub((name, size) => openLxcConsole(deps, name, size));
    this.live = new LxcLive(deps, {
      need: (name) => this.#need(name),
      remember: (state) => this.#remember(state),
      lock: (name, work) => this.#mutex.run(name, work),
    });
    this.checkpoints = new LxcCheckpoints(deps, {
      need: (name) => this.#need(name),
      lock: (name, work) => this.#mutex.run(name, work),
      nextStop: (name) => nextStop(this, name),
      start: (run, signal, launch) => this.start(run, signal, launch),
    });
    this.#moves = new GroupMoves(deps.tree);
    endOrphans(deps.paths.lxcPath);
    this.#commands = new LxcCommands(deps, { need: (name) => this.#need(name), moves: this.#moves });
    this.#exits = new Exits(deps, {
      running: this.#live,
      mutex: this.#mutex,
      spool: this.#spool,
      cpus: this.#cpus,
      devices: this.live,
      remember: (state) => this.#remember(state),
    });
  }

  mapsFilesAt(path: string): Promise<boolean> {
    return canMapAt(this.#deps, path);
  }

  async recover(names: readonly string[]): Promise<void> {
    const { paths, tree } = this.#deps;
    await this.checkpoints.awaitOrphans();
    const remains = findRemains(tree, paths);
    const found = names.filter((name) => remains.has(paths.key(name)));
    const book = {
      live: this.live,
      running: this.#live,
      exits: this.#exits,
      spool: this.#spool,
      remember: (state: RunningRecord) => this.#remember(state),
    };
    await Promise.all(found.map((name) => this.#mutex.run(name, () => recoverRun(this.#deps, name, book))));
    for (const state of this.#live.values()) this.#cpus.adopt(state.name, state.limits['limits.cpu']);
    this.#cpus.distribute();
    await restoreHostSide(this.#deps, [...this.#live.values()]);
  }

  async look(): Promise<void> {
    for (const nic of nicsOf([...this.#live.values()])) await rejoinBridge(nic, this.#deps.log);
  }

  expectStart = (): void => this.#moves.expect();

  async start(run: RunConfig, signal: AbortSignal, launch?: Launch): Promise<{ readonly initPid: number }> {
    this.#moves.expect();
    return this.#mutex.run(run.name, async () => {
      const before = this.#live.get(run.name);
      if (before !== undefined && !isAlive(before)) await this.#exits.handleEnd(before);
      if (this.#live.has(run.name)) throw driverErrors.inUse(`Container "${run.name}" is already running`);
      const state = await this.#starts.run(() => this.#startOn(run, signal, launch));
      this.#live.set(state.name, state);
      await this.live.afterStart(state).catch((error: unknown) => this.#undoStart(state, error));
      this.#remember(started(state));
      return { initPid: state.initPid };
    });
  }

  async #startOn(run: RunConfig, signal: AbortSignal, launch: Launch | undefined): Promise<RunningRecord> {
    const cpus = this.#cpus.claim(run.name, run.config['limits.cpu']);
    try {
      const state = await startContainer({ ...this.#deps, spool: this.#spool, cpus, launch }, run, signal);
      this.#cpus.confirm(run.name);
      return state;
    } catch (error) {
      this.#cpus.release(run.name);
      throw error;
    }
  }

  /** A container without its limits must not run. */
  async #undoStart(state: RunningRecord, error: unknown): Promise<never> {
    process.kill(state.initPid, 'SIGKILL');
    await this.#exits.handleEnd(state);
    throw driverErrors.failed(`Cannot start container "${state.name}"`, error);
  }

  async stop(
    name: string,
    options: { readonly force: boolean; readonly timeoutMs?: number },
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    const { tree, paths } = this.#deps;
    // Holds the lock: waits for a running start, and comes before the handling of the exit.
    const { wait, state } = await this.#mutex.run(name, async () => {
      const state = this.#need(name);
      await makeReceptive(tree, paths.group(name), state, options.force);
      return { wait: nextStop(this, name), state };
    });
    const over = new AbortController();
    if (!options.force) {
      requestShutdown(state, over.signal).catch((error: unknown) =>
        this.#deps.log.warn('cannot ask for a shutdown', { container: name, reason: errorText(error) }),
      );
    }
    try {
      await wait(options.timeoutMs ?? (options.force ? killTimeoutMs : undefined), signal);
    } finally {
      over.abort();
    }
  }

  freeze = (name: string): Promise<void> => this.#setFrozen(name, true);
  unfreeze = (name: string): Promise<void> => this.#setFrozen(name, false);

  async #setFrozen(name: string, frozen: boolean): Promise<void> {
    const { tree, paths } = this.#deps;
    await this.#mutex.run(name, async () => {
      this.#need(name);
      await setFrozen(tree, paths.group(name), frozen, freezeTimeoutMs);
    });
  }

  probe(name: string): RuntimeProbe {
    const state = this.#live.get(name);
    // Until its exit is announced a container counts as running, so that states and events agree.
    if (state === undefined) return { status: 'stopped', initPid: 0 };
    const frozen = isFrozen(this.#deps.tree, this.#deps.paths.group(name));
    return { status: frozen ? 'frozen' : 'running', initPid: state.initPid };
  }

  async metrics(name: string): Promise<RuntimeMetrics> {
    const state = this.#need(name);
    return readMetrics(this.#deps.tree, this.#deps.paths.group(name), state.initPid, state.nics);
  }

  async updateLimits(name: string, config: Readonly<Record<string, string>>): Promise<void> {
    await this.#mutex.run(name, async () => {
      const state = this.#need(name);
      // A crash in between leaves a mixture: the next daemon sets all again.
      this.#remember({ ...state, limitsChanging: true });
      let now = state;
      try {
        now = await applyKeys(this.#deps, this.#cpus, state, config);
      } finally {
        this.#remember(now);
      }
    });
  }

  limits(name: string): Readonly<Record<string, string>> | undefined {
    const { limits, limitsChanging } = this.#need(name);
    return limitsChanging === true ? undefined : limits;
  }

  prepareCommand = (name: string, command: RuntimeCommand): PreparedCommand => this.#commands.prepare(name, command);

  spawn: RuntimeDriver['spawn'] = (...all) => this.#commands.spawn(...all);

  console(name: string, size: TerminalSize): RuntimeConsole {
    this.#need(name);
    return this.#consoles.attach(name, size);
  }

  fileView = (name: string): FileView | undefined => viewThrough(this.#live.get(name));

  peer(name: string, socketFd: number): RuntimePeer {
    const initPid = this.#live.get(name)?.initPid;
    return initPid === undefined ? 'stranger' : peerOf(this.#deps.libc, initPid, socketFd);
  }

  async forget(name: string): Promise<void> {
    const { tree, paths } = this.#deps;
    await this.#mutex.run(name, async () => {
      if (this.#live.has(name)) throw driverErrors.inUse(`Container "${name}" is running`);
      this.#spool.discard(paths.key(name));
      // A start makes it before its groups, and this removes it last: without it there are none in a dozen hierarchies.
      if (!existsSync(paths.containerDir(name))) return;
      removeGroup(tree, paths.group(name));
      removeGroup(tree, paths.monitorGroup(name));
      removeContainerDir(this.#deps, name);
    });
  }

  killPaths = (name: string): readonly string[] => killPathsOf(this.#deps, name);
  betweenBoots = (listener: BetweenBoots): (() => void) => this.#spool.betweenBoots(listener);
  onExit = (listener: (exit: RuntimeExit) => void): (() => void) => this.#exits.onExit(listener);

  async close(): Promise<void> {
    this.#exits.close();
    this.#consoles.close();
    this.#commands.close();
    this.#moves.close();
    await this.#deps.namespaces.close();
    // Only empty ones: whatever still runs, known or not, keeps its own.
    if (this.#live.size === 0) removeEmptyPlaces(this.#deps.tree, this.#deps.paths);
  }

  #remember(state: RunningRecord): void {
    this.#live.set(state.name, state);
    writeRunningRecord(this.#deps.paths.stateFile(state.name), state);
  }

  #need(name: string): RunningRecord {
    const state = this.#live.get(name);
    if (state === undefined) throw driverErrors.notFound(`Container "${name}" is not running`);
    return state;
  }
}
