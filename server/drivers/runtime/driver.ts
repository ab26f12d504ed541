// The contract of container runtimes: run a container described as plain data, report its state, announce its end. Knows nothing of
// records, operations or HTTP; names are opaque and unique on this host.
import type { InterfaceState } from '../interface-state.ts';
import type { PreparedCommand, RuntimeCommand, RuntimeConsole, RuntimeProcess, TerminalSize } from './command.ts';
import type { DeviceParts, DiskRate, IdMapEntry, MountRun, NicRun, NodeRun } from '../device-parts.ts';

export type { DeviceParts, DiskRate, IdMapEntry, MountRun, NicRun, NodeRun } from '../device-parts.ts';

/** Everything a start needs, decided beforehand: the runtime decides nothing itself. */
export interface RunConfig {
  readonly name: string;
  readonly hostname: string;
  /** Host directory that becomes / ; owned 0:0 when `rootfsIdmapped`, else by the mapped ids. */
  readonly rootfs: string;
  readonly logDir: string;
  readonly architecture: string;
  /** Empty = privileged. */
  readonly idmap: readonly IdMapEntry[];
  /** Maps that files of `rootfs` may have on disk, from earlier starts; the recorded one first. Absent: unknown. */
  readonly fileMaps?: readonly (readonly IdMapEntry[])[];
  /** Expanded container config: limits.*, environment.*, raw.lxc, security.* … as strings. */
  readonly config: Readonly<Record<string, string>>;
  readonly nics: readonly NicRun[];
  readonly mounts: readonly MountRun[];
  readonly nodes?: readonly NodeRun[];
  readonly diskRates?: readonly DiskRate[];
  /** Properties of each device, kept for `LiveDevices.plugged` without being read. */
  readonly properties?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** File with the deadline for starting init (guard/start-until.ts), checked right before, also after a reboot from inside. Too late ->
   *  DriverError Failed. Absent: no limit. */
  readonly startUntilFile?: string;
}

export interface Plug extends DeviceParts {
  readonly device: string;
  readonly properties: Readonly<Record<string, string>>;
}

/** Implemented by runtimes that change devices of running containers. Every change is atomic; a changed device survives a reboot from
 *  inside. Not running -> DriverError NotFound. */
export interface LiveDevices {
  /** Properties of every plugged device. Undefined for a container that an older release started. */
  plugged(name: string): Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  /** A device of that name exists, or a name or path is taken -> DriverError Exists. The host lacks something -> NotFound. */
  plug(name: string, plug: Plug): Promise<void>;
  /** The parts of the device; empty for an unknown one. */
  parts(name: string, device: string): DeviceParts;
  /** Applies other rates, filters and nodes of the device; its nics and mounts otherwise stay. */
  adjust(name: string, plug: Plug): Promise<void>;
  /** Idempotent. */
  unplug(name: string, device: string): Promise<void>;
  /** Mounts something for the daemon itself (`device` is `ownMount`). Path taken -> DriverError Exists. */
  show(name: string, mount: MountRun): Promise<void>;
  /** Unmounts what `show`, or the start, mounted at `target` for the daemon. Idempotent. */
  hide(name: string, target: string): Promise<void>;
  /** Mount points of the daemon itself. */
  shown(name: string): readonly string[];
}

export type CheckpointAbility = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** Implemented by runtimes that store a container's memory, processes and open files in a directory and restore them, here or elsewhere.
 *  Directories exist, are private to the daemon and on a disk with room for the container's memory; their content is opaque plain files.
 *  Live migration: check `available` on both servers first; on the source, if migration.incremental.memory is set, call `prepare` in rounds
 *  (services/migration/memory-rounds.ts), then `checkpoint` with `leave: 'stopped'`; transfer all those directories and the files of the
 *  root disk; on the target call `restore` with a RunConfig whose rootfs, devices and id map equal the source's. A failed `checkpoint`
 *  leaves the container running; after a failed `restore` the source can restore from its own copy. */
export interface Checkpoints {
  /** Whether this host can do it now. Asks the host's tools once, and again only when they changed. Never rejects. */
  available(): Promise<CheckpointAbility>;
  /** Pre-dumps memory while the container continues, so that the next round or `checkpoint` only has later changes. `previous`: the
   *  directory of the previous round, a sibling of `dir`. Resolves to the percentage of unchanged memory. */
  prepare(
    name: string,
    options: { readonly dir: string; readonly previous?: string },
    signal: AbortSignal,
  ): Promise<{ readonly unchangedPercent: number }>;
  /** `leave` stopped: the container ends with its last state stored, like a forced stop, and this resolves after the exit reached onExit
   *  listeners. Frozen: it stays frozen, so that its files can be copied too. On a throw it continues running, and the content of `dir` is
   *  worthless; `logFile` then has the tool's whole output. Not running -> NotFound; frozen -> Failed; unsupported here -> NotSupported.
   *  The signal can only abort the beginning: a checkpoint in progress is completed. */
  checkpoint(
    name: string,
    options: {
      readonly dir: string;
      readonly previous?: string;
      readonly leave: 'running' | 'frozen' | 'stopped';
      readonly logFile?: string;
    },
    signal: AbortSignal,
  ): Promise<void>;
  /** Whether `dir` has a complete checkpoint, even if its daemon died while it was made. */
  isComplete(dir: string): boolean;
  /** Like `start`, with the same errors, but the processes resume from `dir`, which stays unchanged. */
  restore(
    run: RunConfig,
    options: { readonly dir: string; readonly logFile?: string },
    signal: AbortSignal,
  ): Promise<{ readonly initPid: number }>;
}

/** The user at the other end of a local connection: the container's root, another of its users, or a process outside it. */
export type RuntimePeer = 'root' | 'user' | 'stranger';

export type RuntimeStatus = 'stopped' | 'running' | 'frozen';

export interface RuntimeProbe {
  readonly status: RuntimeStatus;
  /** Host pid of the container's init; 0 when stopped. */
  readonly initPid: number;
}

/** A container's init ended (`stop`) or was replaced by a reboot from inside (`reboot`). Sent once all its host resources (veth, mounts,
 *  cgroups) are gone, or restored. Also sent for requested stops. */
export interface RuntimeExit {
  readonly name: string;
  readonly target: 'stop' | 'reboot';
}

/** Live metrics (spec 2.6): bytes, nanoseconds, counts. */
export interface RuntimeMetrics {
  readonly initPid: number;
  readonly processes: number;
  readonly cpuUsageNs: number;
  readonly memory: {
    readonly usage: number;
    readonly usage_peak: number;
    readonly swap_usage: number;
    readonly swap_usage_peak: number;
  };
  readonly network: Readonly<Record<string, InterfaceState>>;
  usage(): ContainerUsage;
}

type PacketCounters = Readonly<Record<'bytes' | 'packets' | 'errs' | 'drop', number>>;

/** Bytes, seconds, counts since the start. */
export interface ContainerUsage {
  readonly cpus: readonly { readonly cpu: string; readonly userSeconds: number; readonly systemSeconds: number }[];
  readonly memory: Readonly<
    Record<
      | 'activeAnon'
      | 'activeFile'
      | 'inactiveAnon'
      | 'inactiveFile'
      | 'cached'
      | 'dirty'
      | 'mapped'
      | 'rss'
      | 'shmem'
      | 'unevictable'
      | 'writeback',
      number
    >
  >;
  /** Its memory limit, else the host's memory. */
  readonly memoryTotal: number;
  readonly disks: readonly ({ readonly device: string } & Readonly<
    Record<'readBytes' | 'writtenBytes' | 'reads' | 'writes', number>
  >)[];
  /** By their names in the container. */
  readonly interfaces: Readonly<
    Record<string, { readonly receive: PacketCounters; readonly transmit: PacketCounters }>
  >;
}

/** The file tree of a running container as the host reaches it. */
export interface FileView {
  /** Leads to its `/` with all its mounts, while `isCurrent`. */
  readonly path: string;
  /** Ids of files there (`hostid`) as the container sees them (`nsid`); empty = the same. */
  readonly idmap: readonly IdMapEntry[];
  /** False once the container has stopped or rebooted; the path may then lead anywhere. */
  readonly isCurrent: () => boolean;
}

/** Features for containers that a host may lack; all but AppArmor's concern cgroups. */
export type HostFeature =
  | 'apparmor'
  | 'apparmorParser'
  | 'blkio.weight'
  | 'cpu'
  | 'cpuset'
  | 'memory'
  | 'memory.swap'
  | 'pids';

export interface RuntimeDriver {
  readonly name: 'lxc' | 'sim';
  readonly version: string;
  /** True if root file systems stay owned 0:0 on disk and are mapped at the mount (no shifting is ever needed). */
  readonly rootfsIdmapped: boolean;
  /** Whether that applies to the file system at the path: ZFS before 2.2 cannot map. Absent: as rootfsIdmapped. */
  mapsFilesAt?(path: string): Promise<boolean>;
  /** As found at opening. Absent: none. */
  readonly missing?: readonly HostFeature[];

  /** Called once after construction with the names that may be running: re-attaches, notices ends that were missed. A container whose start
   *  was cut off by a crash ends up fully started, or not running. */
  recover(names: readonly string[]): Promise<void>;
  /** Implemented by runtimes with a slow preparation: a start will follow in some ms, or never. */
  expectStart?(): void;
  /** Resolves when init runs. Throws DriverError Failed with the first real reason, and leaves nothing behind. Already running ->
   *  DriverError InUse. */
  start(run: RunConfig, signal: AbortSignal): Promise<{ readonly initPid: number }>;
  /** force: kills every process, also of a frozen container. Otherwise asks init to shut down and throws DriverError Timeout after
   *  timeoutMs (undefined = no limit); the container then keeps running. Resolves after the exit reached onExit listeners. Not running ->
   *  DriverError NotFound. */
  stop(
    name: string,
    options: { readonly force: boolean; readonly timeoutMs?: number },
    signal: AbortSignal,
  ): Promise<void>;
  /** Idempotent. */
  freeze(name: string): Promise<void>;
  unfreeze(name: string): Promise<void>;
  /** Cheap (microseconds) and synchronous: called for every container of a list. */
  probe(name: string): RuntimeProbe;
  /** DriverError NotFound when not running. */
  metrics(name: string): Promise<RuntimeMetrics>;
  /** Applies the live keys of the whole expanded config (limits.*, linux.kernel_modules) to a running container: all of them, or on a throw
   *  none. */
  updateLimits(name: string, config: Readonly<Record<string, string>>): Promise<void>;
  /** The limits.* applied to a running container; undefined if a daemon died while it changed them. Not running -> DriverError NotFound. */
  limits(name: string): Readonly<Record<string, string>> | undefined;
  /** Implemented by runtimes that prepare a command while its client is still connecting. Never throws: `begin` throws the problem. */
  prepareCommand?(name: string, command: RuntimeCommand): PreparedCommand;
  /** Starts a command in a running container. Not running -> DriverError NotFound; frozen -> Failed. `kill` ends it; the signal only aborts
   *  the start. */
  spawn(name: string, command: RuntimeCommand, signal: AbortSignal): Promise<RuntimeProcess>;
  /** Opens a view of /dev/console of a running container; several at a time are allowed. Not running -> DriverError NotFound. */
  console(name: string, size: TerminalSize): RuntimeConsole;
  /** Implemented by runtimes that plug devices while a container runs. */
  readonly live?: LiveDevices;
  /** Absent: this runtime cannot checkpoint. */
  readonly checkpoints?: Checkpoints;
  /** Implemented by runtimes whose containers see more than the directory `rootfs`. Undefined if it does not run (any more). */
  fileView?(name: string): FileView | undefined;
  /** Implemented by runtimes whose containers have processes on this host: asks the kernel about a connected local socket, given as its
   *  descriptor. An unknown peer is a stranger. */
  peer?(name: string, socketFd: number): RuntimePeer;
  /** Implemented by runtimes whose containers a guard can kill without the daemon: their cgroups, or the file of a simulated container.
   *  Also for one that is stopped or starting. */
  killPaths?(name: string): readonly string[];
  /** Deletes all traces of a stopped container: config, run directory, stale cgroups. Idempotent. Keeps logs. */
  forget(name: string): Promise<void>;
  onExit(listener: (exit: RuntimeExit) => void): () => void;
  /** Called and awaited (some seconds at most) when a container reboots from inside: its old init has ended, and the next has not begun.
   *  Listeners' errors are logged. */
  betweenBoots(listener: (name: string) => Promise<void>): () => void;
  /** Closes watchers and sockets; containers keep running. */
  close(): Promise<void>;
}
