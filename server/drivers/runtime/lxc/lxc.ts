// Runs containers with LXC's tools: one generated configuration and one lxc-start each. Reads and live changes go straight to the kernel.
import { mkdirSync, realpathSync } from 'node:fs';
import { errorText, type Log } from '../../../lib/log.ts';
import { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import { DriverError } from '../../driver-error.ts';
import { endOrphans } from '../exec/attach.ts';
import { captureOutput } from '../exec/capture.ts';
import { type CgroupTree, isFrozen, readCgroupTree, removeGroup, setFrozen } from '../cgroup/cgroup.ts';
import { ConsoleHub } from '../exec/console-hub.ts';
import type {
  FileView,
  PreparedCommand,
  RunConfig,
  RuntimeCommand,
  RuntimeConsole,
  RuntimeDriver,
  RuntimeExecResult,
  RuntimeExit,
  RuntimeMetrics,
  RuntimePeer,
  RuntimeProbe,
  RuntimeProcess,
  TerminalSize,
} from '../driver.ts';
import { viewThrough } from '../mounts/file-view.ts';
import { ExitSpool, type BetweenBoots } from './exit-spool.ts';
import { GroupMoves } from '../cgroup/group-moves.ts';
import { requestShutdown } from './halt-signal.ts';
import { applyKeys, clearKeys, restoreLimits, sweepKeys } from './live-keys.ts';
import {
  awaitOutcome,
  awaitRunning,
  buryRemains,
  findRemains,
  hasMonitor,
  isAlive,
  makeReceptive,
  removeEmptyPlaces,
} from './liveness.ts';
import { LxcCommands } from './spawn.ts';
import type { ModulePaths } from '../host/kernel-modules.ts';
import { LxcLive } from './live-devices.ts';
import { type FileDeps, makePassable, removeContainerDir, unmountFiles } from '../mounts/container-files.ts';
import { openLxcConsole } from './console.ts';
import { LxcPaths } from '../lxc-paths.ts';
import { completeStart, findRun } from './recover.ts';
import { type Launch, startContainer } from './start.ts';
import { LxcCheckpoints } from '../checkpoint/lxc-checkpoint.ts';
import { CpuSets } from '../cgroup/cpu-sets.ts';
import type { CheckpointPrograms } from '../checkpoint/criu.ts';
import { lxcAvailable, lxcVersion } from './host.ts';
import { canMountMapped } from '../mounts/mapped-mounts.ts';
import { readMetrics } from '../cgroup/metrics.ts';
import { sweepShapes } from '../nic/plug.ts';
import { removeRunningRecord, started, type RunningRecord, writeRunningRecord } from './running-record.ts';
import { Slots } from './concurrency-limit.ts';
import { peerOf } from '../host/socket-peer.ts';
import { loadLibc } from '../host/syscalls.ts';
import { UserNamespaces } from '../idmap/user-namespaces.ts';
import { nextStop } from '../wait-exit.ts';

export { lxcAvailable } from './host.ts';

export interface LxcDeps {
  /** The driver's private directory, on a file system that survives a restart of the daemon. */
  readonly dir: string;
  readonly log: Log;
  /** A directory on the file system that will hold root file systems; asked whether it can be mounted id-mapped. Default `dir`. */
  readonly probeDir?: string;
  /** Other kernel modules than this host's. */
  readonly modules?: ModulePaths;
  /** False: as on a kernel that cannot mount through id maps. Default: what this one can. */
  readonly mappedMounts?: boolean;
  /** Other programs than those of the host's usual places. */
  readonly programs?: CheckpointPrograms;
}

/** Throws DriverError NotSupported with the reason when this host cannot run it. */
export async function openLxcRuntime(deps: LxcDeps): Promise<RuntimeDriver> {
  const available = await lxcAvailable();
  if (!available.ok) throw new DriverError('NotSupported', `Cannot run LXC containers: ${available.reason}`);
  mkdirSync(deps.dir, { recursive: true, mode: 0o700 });
  const paths = new LxcPaths(realpathSync(deps.dir));
  makePassable(paths.lxcPath);
  const libc = await loadLibc();
  if (libc === undefined)
    deps.log.warn('koffi cannot be loaded: no id-mapped mounts, and guest sockets refuse everybody');
  const namespaces = new UserNamespaces();
  return new LxcRuntime({
    paths,
    log: deps.log,
    tree: readCgroupTree(),
    version: await lxcVersion(),
    rootfsIdmapped:
      deps.mappedMounts !== false &&
      libc !== undefined &&
      (await canMountMapped({ libc, namespaces }, deps.probeDir ?? deps.dir)),
    libc,
    namespaces,
    modules: deps.modules,
    programs: deps.programs,
  });
}

const startsAtOnce = 8;
const freezeTimeoutMs = 10_000;
/** Longest that the kernel may take to end killed processes. */
const killTimeoutMs = 30_000;
const sweepMs = 1_000;
/** Without a monitor nobody tells us about an exit. */
const orphanSweepMs = 100;

interface Deps extends FileDeps {
  readonly modules: ModulePaths | undefined;
  readonly tree: CgroupTree;
  readonly version: string;
  readonly programs: CheckpointPrograms | undefined;
}

class LxcRuntime implements RuntimeDriver {
  readonly name = 'lxc';
  readonly version: string;
  readonly rootfsIdmapped: boolean;
  readonly #deps: Deps;
  readonly #live = new Map<string, RunningRecord>();
  readonly #mutex = new KeyedMutex();
  readonly #slots = new Slots(startsAtOnce);
  readonly #spool: ExitSpool;
  readonly #consoles: ConsoleHub;
  readonly #cpus: CpuSets;
  readonly #commands: LxcCommands;
  readonly #moves: GroupMoves;
  readonly live: LxcLive;
  readonly checkpoints: LxcCheckpoints;
  readonly #listeners = new Set<(exit: RuntimeExit) => void>();
  #sweeper: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.version = deps.version;
    this.rootfsIdmapped = deps.rootfsIdmapped;
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
    this.#spool.start(
      (key) => this.#wake(key),
      (error) => deps.log.warn('cannot watch for exits, falling back to polling', { reason: errorText(error) }),
    );
    this.#scheduleSweep();
  }

  async recover(names: readonly string[]): Promise<void> {
    const { paths, tree } = this.#deps;
    await this.checkpoints.awaitOrphans();
    const remains = findRemains(tree, paths);
    const found = names.filter((name) => remains.has(paths.key(name)));
    await Promise.all(found.map((name) => this.#mutex.run(name, async () => this.#recoverOne(name))));
    for (const state of this.#live.values()) this.#cpus.adopt(state.name, state.limits['limits.cpu']);
    this.#cpus.settle();
    const cables = [...this.#live.values()].flatMap((state) => Object.values(state.nics));
    await sweepShapes(cables, paths.tag, this.#deps.log);
    await sweepKeys(this.#deps, [...this.#live.keys()]);
  }

  async #recoverOne(name: string): Promise<void> {
    const { paths } = this.#deps;
    if (this.#live.has(name)) return;
    const found = findRun(this.#deps, name);
    if (found.kind === 'nothing') return;
    if (found.kind === 'ended') {
      this.#live.set(name, found.state);
      await this.#settle(found.state);
      return;
    }
    this.#spool.discard(paths.key(name));
    if (found.kind === 'starting') {
      return completeStart(this.#deps, found.state, {
        live: this.live,
        running: this.#live,
        remember: (state) => this.#remember(state),
      });
    }
    const { state, rebooted } = found;
    this.#remember(state);
    if (found.hasMonitor && rebooted) await awaitRunning(paths, name, found.init);
    await this.live.afterCrash(state);
    if (rebooted) await this.live.afterReboot(this.#live.get(name) ?? state);
    if (rebooted) this.#announce({ name, target: 'reboot' });
  }

  async start(run: RunConfig, signal: AbortSignal, launch?: Launch): Promise<{ readonly initPid: number }> {
    this.#moves.expect();
    return this.#mutex.run(run.name, async () => {
      const before = this.#live.get(run.name);
      if (before !== undefined && !isAlive(before)) await this.#settle(before);
      if (this.#live.has(run.name)) throw new DriverError('InUse', `Container "${run.name}" is already running`);
      const state = await this.#slots.run(() => this.#startOn(run, signal, launch));
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

  /** A container without the limits that were asked for does not run. */
  async #undoStart(state: RunningRecord, error: unknown): Promise<never> {
    process.kill(state.initPid, 'SIGKILL');
    await this.#settle(state);
    throw new DriverError('Failed', `Cannot start container "${state.name}"`, error);
  }

  async stop(
    name: string,
    options: { readonly force: boolean; readonly timeoutMs?: number },
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted();
    const { tree, paths } = this.#deps;
    // After a start that is under way, and before the exit is dealt with: both hold the lock.
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
    // Until its exit is delivered a container counts as running, so that states and events tell the same story.
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
      // Between the two a crash leaves some of each: the next daemon sets them all again.
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

  prepareCommand(name: string, command: RuntimeCommand): PreparedCommand {
    return this.#commands.prepare(name, command);
  }

  async spawn(name: string, command: RuntimeCommand, signal: AbortSignal): Promise<RuntimeProcess> {
    signal.throwIfAborted();
    return this.#commands.spawn(name, command);
  }

  console(name: string, size: TerminalSize): RuntimeConsole {
    this.#need(name);
    return this.#consoles.attach(name, size);
  }

  async exec(
    name: string,
    argv: readonly string[],
    options: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string; readonly timeoutMs?: number },
    signal: AbortSignal,
  ): Promise<RuntimeExecResult> {
    const { timeoutMs, ...rest } = options;
    const command = await this.spawn(name, { ...rest, argv, stdio: { kind: 'pipes' } }, signal);
    return captureOutput(command, `${argv[0] ?? ''} in container "${name}"`, timeoutMs, signal);
  }

  fileView(name: string): FileView | undefined {
    return viewThrough(this.#live.get(name));
  }

  peer(name: string, socketFd: number): RuntimePeer {
    const initPid = this.#live.get(name)?.initPid;
    return initPid === undefined ? 'stranger' : peerOf(this.#deps.libc, initPid, socketFd);
  }

  async forget(name: string): Promise<void> {
    const { tree, paths } = this.#deps;
    await this.#mutex.run(name, async () => {
      if (this.#live.has(name)) throw new DriverError('InUse', `Container "${name}" is running`);
      removeContainerDir(this.#deps, name);
      this.#spool.discard(paths.key(name));
      removeGroup(tree, paths.group(name));
      removeGroup(tree, paths.monitorGroup(name));
    });
  }

  betweenBoots = (listener: BetweenBoots): (() => void) => this.#spool.betweenBoots(listener);
  onExit(listener: (exit: RuntimeExit) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#sweeper);
    this.#spool.close();
    this.#consoles.close();
    this.#commands.close();
    this.#moves.close();
    await this.#deps.namespaces.close();
    // Empty ones only: what still runs, known or not, keeps its own.
    if (this.#live.size === 0) removeEmptyPlaces(this.#deps.tree, this.#deps.paths);
  }

  /** Called when something may have ended: deals with it unless a live init proves the hint stale. */
  #wake(key: string): void {
    const name = [...this.#live.keys()].find((one) => this.#deps.paths.key(one) === key);
    if (name === undefined) return;
    void this.#mutex
      .run(name, async () => {
        const state = this.#live.get(name);
        if (state !== undefined && !isAlive(state) && !this.#closed) await this.#settle(state);
      })
      .catch((error: unknown) =>
        this.#deps.log.error('cannot deal with an exit', { container: name, reason: errorText(error) }),
      );
  }

  /** The container's init is dead: waits for what follows (a new init, or the end), cleans up, tells the listeners. */
  async #settle(state: RunningRecord): Promise<void> {
    const { tree, paths, log } = this.#deps;
    const key = paths.key(state.name);
    const between = (): Promise<void> => this.#spool.answer(key, state.name, log);
    const outcome = await awaitOutcome(tree, paths.group(state.name), state, between);
    this.#spool.discard(key);
    if (outcome.kind === 'reboot') {
      await awaitRunning(paths, state.name, outcome.init);
      const reborn = { ...state, initPid: outcome.init.pid, initStartTime: outcome.init.startTime };
      this.#remember(reborn);
      await this.live.afterReboot(reborn);
      restoreLimits(this.#deps, this.#cpus, state);
      this.#announce({ name: state.name, target: 'reboot' });
      return;
    }
    await this.live.afterStop(state);
    await clearKeys(this.#deps, state);
    await buryRemains(tree, paths, state, log);
    unmountFiles(this.#deps, state.name);
    this.#live.delete(state.name);
    this.#cpus.release(state.name);
    removeRunningRecord(paths.stateFile(state.name));
    this.#announce({ name: state.name, target: 'stop' });
  }

  #announce(exit: RuntimeExit): void {
    if (this.#closed) return;
    for (const listener of this.#listeners) {
      try {
        listener(exit);
      } catch (error) {
        this.#deps.log.error('a listener for exits failed', { container: exit.name, reason: errorText(error) });
      }
    }
  }

  #remember(state: RunningRecord): void {
    this.#live.set(state.name, state);
    writeRunningRecord(this.#deps.paths.stateFile(state.name), state);
  }

  #need(name: string): RunningRecord {
    const state = this.#live.get(name);
    if (state === undefined) throw new DriverError('NotFound', `Container "${name}" is not running`);
    return state;
  }

  /** Catches exits that no hook told us about. */
  #scheduleSweep(): void {
    if (this.#closed) return;
    const orphans = [...this.#live.values()].some((state) => !hasMonitor(state));
    this.#sweeper = setTimeout(
      () => {
        this.#cpus.settleIfChanged();
        for (const state of this.#live.values()) {
          if (!isAlive(state)) this.#wake(this.#deps.paths.key(state.name));
        }
        this.#scheduleSweep();
      },
      orphans ? orphanSweepMs : sweepMs,
    );
    this.#sweeper.unref();
  }
}
