// Starts commands in running LXC containers, or says why that is not possible now; prepares commands whose client is still connecting.
import { closeSync, readFileSync, statSync, writeSync } from 'node:fs';
import type { PreparedCommand, RuntimeCommand, RuntimeProcess } from '../command.ts';
import { driverErrors } from '../../driver-error.ts';
import { spawnAttached, type AttachedProcess } from '../exec/attach.ts';
import { isFrozen, type CgroupTree } from '../cgroup/cgroup.ts';
import { StartGates, type Gate } from '../exec/start-gates.ts';
import type { GroupMoves } from '../cgroup/group-moves.ts';
import type { FileDeps } from '../mounts/container-files.ts';
import { findProgram } from '../host/programs.ts';
import { hasMonitor } from './liveness.ts';
import { nativeOnly } from './native-abi-filter.ts';
import type { RunningRecord } from './running-record.ts';
import type { Libc } from '../host/syscalls.ts';

type CommandDeps = Pick<FileDeps, 'paths' | 'libc'> & { readonly tree: CgroupTree };

interface Access {
  /** Throws NotFound for a container that does not run. */
  readonly need: (name: string) => RunningRecord;
  readonly moves: GroupMoves;
}

/** Each waiting command has a host process. Further ones start without preparation. */
const maxWaiting = 32;

interface Waiting {
  readonly state: RunningRecord;
  readonly process: AttachedProcess;
  readonly gate: Gate;
}

export class LxcCommands {
  readonly #deps: CommandDeps;
  readonly #access: Access;
  readonly #program: SealedProgram;
  readonly #gates: StartGates | undefined;
  readonly #waiting = new Set<Waiting>();

  constructor(deps: CommandDeps, access: Access) {
    this.#deps = deps;
    this.#access = access;
    this.#program = new SealedProgram(deps.libc, findProgram('lxc-attach') ?? 'lxc-attach');
    this.#gates = deps.libc === undefined ? undefined : new StartGates(deps.libc, deps.paths.lxcPath);
  }

  async spawn(name: string, command: RuntimeCommand, signal: AbortSignal): Promise<RuntimeProcess> {
    signal.throwIfAborted();
    return this.#spawn(name, command);
  }

  #spawn(name: string, command: RuntimeCommand): RuntimeProcess {
    const state = this.#access.need(name);
    this.#access.moves.expect();
    this.#refuseUnable(state);
    return this.#start(state, command);
  }

  /** A quarter of lxc-attach's time is its own start, which is over when the client has connected; until then it has not looked for the
   *  container, and nothing of it is inside. */
  prepare(name: string, command: RuntimeCommand): PreparedCommand {
    let waiting: Waiting | undefined;
    this.#access.moves.expect();
    // After the answer that the client is waiting for.
    const soon = setImmediate(() => (waiting = this.#wait(name, command)));
    const takeWaiting = (): Waiting | undefined => {
      clearImmediate(soon);
      if (waiting !== undefined) this.#waiting.delete(waiting);
      return waiting;
    };
    return {
      begin: async (signal) => {
        const ready = takeWaiting();
        try {
          signal.throwIfAborted();
          const begun = this.#letIn(name, ready);
          if (begun !== undefined) return begun;
        } catch (error) {
          giveUp(ready);
          throw error;
        }
        giveUp(ready);
        return this.#spawn(name, command);
      },
      discard: () => giveUp(takeWaiting()),
    };
  }

  close(): void {
    for (const one of this.#waiting) giveUp(one);
    this.#waiting.clear();
    this.#gates?.sweep();
    this.#program.close();
  }

  /** Undefined if the wait cannot start; `begin` then reports the error. */
  #wait(name: string, command: RuntimeCommand): Waiting | undefined {
    if (this.#waiting.size >= maxWaiting) return undefined;
    const gate = this.#gates?.make();
    if (gate === undefined) return undefined;
    try {
      const state = this.#access.need(name);
      const process = this.#start(state, command, gate.path);
      process.host.onEnd(() => gate.remove());
      const waiting = { state, process, gate };
      this.#waiting.add(waiting);
      return waiting;
    } catch {
      gate.remove();
      return undefined;
    }
  }

  /** Undefined if no command waits, or the container has changed since. */
  #letIn(name: string, waiting: Waiting | undefined): RuntimeProcess | undefined {
    const state = this.#access.need(name);
    this.#access.moves.expect();
    this.#refuseUnable(state);
    if (waiting === undefined || waiting.process.host.isOver) return undefined;
    if (state.initPid !== waiting.state.initPid || state.initStartTime !== waiting.state.initStartTime)
      return undefined;
    return waiting.gate.open() ? waiting.process : undefined;
  }

  /** lxc-attach would hang in the first case, and in the second fail like the command. */
  #refuseUnable(state: RunningRecord): void {
    const { tree, paths } = this.#deps;
    const refuse = (reason: string): never => {
      throw driverErrors.failed(`Cannot run a command in container "${state.name}"`, new Error(reason));
    };
    if (isFrozen(tree, paths.group(state.name))) refuse('it is frozen');
    if (!hasMonitor(state)) refuse('it has lost its monitor: stop it by force and start it again');
  }

  #start(
    { name, initPid, nativeOnly: isNative }: RunningRecord,
    command: RuntimeCommand,
    gate?: string,
  ): AttachedProcess {
    const { paths, libc } = this.#deps;
    const before = isNative === true ? nativeOnly() : [];
    const program = this.#program.path;
    const target = { lxcPath: paths.lxcPath, key: paths.key(name), name, initPid, libc, program, before };
    return spawnAttached(gate === undefined ? target : { ...target, gate }, command);
  }
}

function giveUp(waiting: Waiting | undefined): void {
  if (waiting === undefined) return;
  const { process, gate } = waiting;
  process.host.kill();
  process.stdin?.destroy();
  process.stdout?.destroy();
  process.stderr?.destroy();
  gate.remove();
}

/** An immutable in-memory copy of a host program. lxc-attach copies itself at every start, as protection against the container
    that it enters; started from such a copy it skips that, a quarter of its time. */
const closeOnExec = 1;
const allowSealing = 2;
const addSeals = 1033;
const allSeals = 0b1111;

class SealedProgram {
  readonly #libc: Libc | undefined;
  readonly #file: string;
  #copy: { readonly fd: number; readonly version: string } | undefined;

  constructor(libc: Libc | undefined, file: string) {
    this.#libc = libc;
    this.#file = file;
  }

  /** The path to run: the copy, renewed when the program was replaced on disk; the program itself if no copy is possible. */
  get path(): string {
    try {
      const { mtimeMs, size, ino } = statSync(this.#file);
      const version = `${ino}/${size}/${mtimeMs}`;
      if (this.#copy?.version !== version) this.#renew(version);
    } catch {
      this.close();
    }
    return this.#copy === undefined ? this.#file : `/proc/${process.pid}/fd/${this.#copy.fd}`;
  }

  close(): void {
    if (this.#copy !== undefined) closeSync(this.#copy.fd);
    this.#copy = undefined;
  }

  #renew(version: string): void {
    this.close();
    const fd = this.#libc?.memfd_create('lxc-attach', closeOnExec | allowSealing) ?? -1;
    if (fd < 0) return;
    const content = readFileSync(this.#file);
    for (let at = 0; at < content.length;) at += writeSync(fd, content, at);
    if (this.#libc?.fcntl(fd, addSeals, allSeals) === 0) this.#copy = { fd, version };
    else closeSync(fd);
  }
}
