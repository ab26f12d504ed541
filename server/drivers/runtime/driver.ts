// The contract of container runtimes: run a container described as plain data, report its state, announce its end.
// Knows nothing of records, operations or HTTP; names are opaque and unique on this host.
import type { Readable, Writable } from 'node:stream';
import type { InterfaceState } from '../interface-state.ts';
import type { DeviceParts, DiskRate, IdMapEntry, MountRun, NicRun, NodeRun } from '../device-parts.ts';

export type { DeviceParts, DiskRate, IdMapEntry, MountRun, NicRun, NodeRun } from '../device-parts.ts';

/** Everything a start needs, decided beforehand: the runtime makes no meaningful choice of its own. */
export interface RunConfig {
  readonly name: string;
  readonly hostname: string;
  /** Host directory that becomes / ; owned 0:0 when `rootfsIdmapped`, else by the mapped ids. */
  readonly rootfs: string;
  readonly logDir: string;
  readonly architecture: string;
  /** Empty = privileged. */
  readonly idmap: readonly IdMapEntry[];
  /** Maps that files of `rootfs` may be in on disk, from earlier starts; the recorded one first. Absent: not known. */
  readonly fileMaps?: readonly (readonly IdMapEntry[])[];
  /** Expanded container config: limits.*, environment.*, raw.lxc, security.* … as strings. */
  readonly config: Readonly<Record<string, string>>;
  readonly nics: readonly NicRun[];
  readonly mounts: readonly MountRun[];
  readonly nodes?: readonly NodeRun[];
  readonly diskRates?: readonly DiskRate[];
  /** Properties of each device, kept for `LiveDevices.plugged` and not looked at. */
  readonly properties?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** File with the time until which init may begin (guard/start-until.ts), asked right before it does, also after a reboot from inside.
   *  Too late -> DriverError Failed. Absent: no limit. */
  readonly startUntilFile?: string;
}

/** A device of a running container: its properties and its parts. */
export interface Plug extends DeviceParts {
  readonly device: string;
  readonly properties: Readonly<Record<string, string>>;
}

/** Power of runtimes that change the devices of running containers. Every change is made whole or not at all; a changed device
 *  survives a reboot from inside. Not running -> DriverError NotFound. */
export interface LiveDevices {
  /** Properties of every device in force. Undefined for a container that an older release started. */
  plugged(name: string): Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  /** A device of that name is there, or a name or path is taken -> DriverError Exists. Host lacks something -> NotFound. */
  plug(name: string, plug: Plug): Promise<void>;
  /** What the device brings; empty parts for an unknown one. */
  parts(name: string, device: string): DeviceParts;
  /** Brings other rates, filters and nodes of the device into force; its nics and mounts are otherwise as they were. */
  adjust(name: string, plug: Plug): Promise<void>;
  /** Idempotent. */
  unplug(name: string, device: string): Promise<void>;
  /** Mounts something of the daemon's own (`device` is `ownMount`), which no device owns. Path taken -> DriverError Exists. */
  show(name: string, mount: MountRun): Promise<void>;
  /** Takes away what `show`, or the start, mounted at `target` for no device. Idempotent. */
  hide(name: string, target: string): Promise<void>;
  /** Paths where something is mounted for no device. */
  shown(name: string): readonly string[];
}

export type CheckpointAbility = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/**
 * For runtimes that can store the memory, processes and open files of a container in a directory and restore them, here or
 * elsewhere. Directories exist, are private to the daemon and on a disk with room for the container's memory; their content is
 * the runtime's, to be carried as plain files.
 *
 * Live migration: `available` on both servers (refuse with its reason before anything is moved); on the source, when
 * migration.incremental.memory is set, rounds of `prepare` (services/migration/memory-rounds.ts); then `checkpoint`
 * with `leave: 'stopped'`; carry all those directories and the files of the root disk; on the target `restore` with a RunConfig
 * whose rootfs, devices and id map are as on the source. A failed `checkpoint` leaves the container running as it was, so the
 * source loses nothing; after a failed `restore` the source can restore from its own copy.
 */
export interface Checkpoints {
  /** Whether this host can do it now. Asks the host's tools once and again only when they were changed. Never rejects. */
  available(): Promise<CheckpointAbility>;
  /** Copies memory while the container continues, so that the next round or `checkpoint` only has what changed since. `previous` is
   *  the directory of the round before, a sibling of `dir`. Resolves to the percentage of memory that had not changed. */
  prepare(
    name: string,
    options: { readonly dir: string; readonly previous?: string },
    signal: AbortSignal,
  ): Promise<{ readonly unchangedPercent: number }>;
  /** `leave` stopped: the container ends with the last moment stored, as by a forced stop, and this resolves after the exit was
   *  delivered to onExit listeners. Frozen: it stands still, so that its files can be copied too. On a throw it continues running, and
   *  the content of `dir` is worthless; `logFile` then has the
   *  tool's whole output. Not running -> NotFound; frozen -> Failed; cannot be done here -> NotSupported. The signal only ends the
   *  beginning: half a checkpoint is not broken off. */
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
  /** Whether `dir` has all of a checkpoint; also of one whose daemon died while it was made. */
  isComplete(dir: string): boolean;
  /** As `start`, with the same errors, but the processes go on from what is in `dir`, which stays as it is. */
  restore(
    run: RunConfig,
    options: { readonly dir: string; readonly logFile?: string },
    signal: AbortSignal,
  ): Promise<{ readonly initPid: number }>;
}

/** The user at the other end of a local connection: root of that container, another of its users, or a process outside it. */
export type RuntimePeer = 'root' | 'user' | 'stranger';

export type RuntimeStatus = 'stopped' | 'running' | 'frozen';

export interface RuntimeProbe {
  readonly status: RuntimeStatus;
  /** Host pid of the container's init; 0 when stopped. */
  readonly initPid: number;
}

/** A container's init ended (`stop`) or was replaced by a reboot from inside (`reboot`). Sent once everything the
 *  runtime holds for it (veth, mounts, cgroups) is gone, respectively up again. Also sent for requested stops. */
export interface RuntimeExit {
  readonly name: string;
  readonly target: 'stop' | 'reboot';
}

/** Live figures (spec 2.6): bytes, nanoseconds, counts. */
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
  /** More, for those who want it: it is read when this is called. */
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
  /** What it may use at most: its limit, else all of the host. */
  readonly memoryTotal: number;
  readonly disks: readonly ({ readonly device: string } & Readonly<
    Record<'readBytes' | 'writtenBytes' | 'reads' | 'writes', number>
  >)[];
  /** By the names inside. */
  readonly interfaces: Readonly<
    Record<string, { readonly receive: PacketCounters; readonly transmit: PacketCounters }>
  >;
}

export interface RuntimeExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
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

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** What a command's standard streams are: nothing, a real pipe each, or one terminal for all three. */
export type RuntimeStdio =
  | { readonly kind: 'null' }
  | { readonly kind: 'pipes' }
  | { readonly kind: 'terminal'; readonly size: TerminalSize };

export interface RuntimeCommand {
  readonly argv: readonly string[];
  /** Over the usual PATH, HOME, USER and LANG; nothing else of the host's gets in. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default /root. */
  readonly cwd?: string;
  /** Ids inside the container; default 0. */
  readonly uid?: number;
  readonly gid?: number;
  readonly stdio: RuntimeStdio;
}

/** A command at work. Whoever has it reads its outputs to their end, or destroys them: an unread one stops the command. */
export interface RuntimeProcess {
  /** All input, of a terminal. Absent with stdio null, as the outputs are. */
  readonly stdin?: Writable;
  /** All output, of a terminal. Ends soon after the command's end, also when something it left behind keeps it open. */
  readonly stdout?: Readable;
  readonly stderr?: Readable;
  /** Without a terminal, or after the end: does nothing. */
  resize(size: TerminalSize): void;
  /** Sends the signal with this number to the command itself. After the end: does nothing. */
  signal(number: number): void;
  /** Ends the command and all it has started, by force. Idempotent. */
  kill(): void;
  /** Never rejects: the exit code, 126 or 127 when the command cannot be run, 128+n when a signal ended it. With a terminal it
   *  resolves only once the output was read. */
  readonly exited: Promise<number>;
}

/** A command of which nothing is in the container yet. One of the two is called, once. */
export interface PreparedCommand {
  /** As `spawn`, with the same errors. */
  begin(this: void, signal: AbortSignal): Promise<RuntimeProcess>;
  /** It will not be begun. */
  discard(this: void): void;
}

/** One viewer of a container's console; all viewers see the same. */
export interface RuntimeConsole {
  readonly input: Writable;
  /** Ends when the container stops. What a viewer does not read in time is lost to it. */
  readonly output: Readable;
  resize(size: TerminalSize): void;
  /** Idempotent. */
  close(): void;
}

/** What a host may lack that containers are to have; all but those of AppArmor are of control groups. */
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
  /** True when root file systems stay owned 0:0 on disk and are mapped while mounted (no shifting is ever needed). */
  readonly rootfsIdmapped: boolean;
  /** Whether that holds of files on the file system there: ZFS before 2.2 cannot map them. Absent: as rootfsIdmapped says. */
  mapsFilesAt?(path: string): Promise<boolean>;
  /** As found when it was opened. Absent: nothing. */
  readonly missing?: readonly HostFeature[];

  /** Called once after construction with the names that may be running: re-attaches, notices what ended meanwhile. A container
   *  whose start was cut off by a crash runs afterwards with everything that the start asked for, or not at all. */
  recover(names: readonly string[]): Promise<void>;
  /** Power of runtimes that have something to get ready that takes its time: a start will be asked for in some ms, or not at all. */
  expectStart?(): void;
  /** Resolves when init runs. Throws DriverError Failed with the first real reason, and leaves nothing behind.
   *  Already running -> DriverError InUse. */
  start(run: RunConfig, signal: AbortSignal): Promise<{ readonly initPid: number }>;
  /** force: kills every process, also of a frozen container. Else asks init to shut down and throws DriverError Timeout after
   *  timeoutMs (undefined = wait for ever), the container then keeps running. Resolves after the exit was delivered to
   *  onExit listeners. Not running -> DriverError NotFound. */
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
  /** Brings the live keys of the whole expanded config (limits.*, linux.kernel_modules) into force in a running container: all
   *  of them, or on a throw those of before. */
  updateLimits(name: string, config: Readonly<Record<string, string>>): Promise<void>;
  /** The limits.* in force in a running container; undefined when a daemon died while it changed them. DriverError NotFound when
   *  it does not run. */
  limits(name: string): Readonly<Record<string, string>> | undefined;
  /** Power of runtimes that can get a command ready while its client is still connecting. Throws nothing: what stands in its way
   *  is thrown by `begin`. */
  prepareCommand?(name: string, command: RuntimeCommand): PreparedCommand;
  /** Starts a command in a running container. Not running -> DriverError NotFound; frozen -> Failed. Its life ends with
   *  `kill`, not with the signal, which only ends the starting. */
  spawn(name: string, command: RuntimeCommand, signal: AbortSignal): Promise<RuntimeProcess>;
  /** Looks at /dev/console of a running container; any number of viewers at a time. Not running -> DriverError NotFound. */
  console(name: string, size: TerminalSize): RuntimeConsole;
  /** Runs a command as root in the container with captured, bounded output. 126/127/128+n as a shell would say. */
  exec(
    name: string,
    argv: readonly string[],
    options: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string; readonly timeoutMs?: number },
    signal: AbortSignal,
  ): Promise<RuntimeExecResult>;
  /** Power of runtimes that plug devices while a container runs. */
  readonly live?: LiveDevices;
  /** Absent: this runtime cannot checkpoint. */
  readonly checkpoints?: Checkpoints;
  /** Power of runtimes whose containers see more than the directory `rootfs`. Undefined when it does not run (any more). */
  fileView?(name: string): FileView | undefined;
  /** Power of runtimes whose containers have processes of this host: asks the kernel about a connected local socket, given as
   *  its descriptor. An unknown peer is a stranger. */
  peer?(name: string, socketFd: number): RuntimePeer;
  /** Power of runtimes whose containers a guard can end without the daemon: control groups, whose processes are the container, or the
   *  file that a simulated one runs by. Also of one that does not run, or only starts. */
  killPaths?(name: string): readonly string[];
  /** Forgets a stopped container: config, run directory, stale cgroups. Idempotent. Logs are not touched. */
  forget(name: string): Promise<void>;
  onExit(listener: (exit: RuntimeExit) => void): () => void;
  /** Called, and waited for (some seconds at most), when a container reboots from inside: its old init has ended, and the next has not
   *  begun. What listeners throw is logged. */
  betweenBoots(listener: (name: string) => Promise<void>): () => void;
  /** Lets go of watchers and sockets; containers keep running. */
  close(): Promise<void>;
}
