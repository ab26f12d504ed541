// The record of a running container that outlives the daemon: one small file per container.
import type { DeviceParts } from '../../device-parts.ts';
import type { IdMapEntry } from '../driver.ts';
import type { InterfaceSettings } from '../nic/commands.ts';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

export interface RunningRecord {
  readonly name: string;
  readonly bootId: string;
  readonly initPid: number;
  readonly initStartTime: number;
  readonly monitorPid: number;
  readonly monitorStartTime: number;
  /** Host names of interfaces that must vanish with the container, by name inside. */
  readonly nics: Readonly<Record<string, string>>;
  /** Set before LXC starts it, and removed once the start is complete. Its processes are not known yet. */
  readonly starting?: true;
  /** The cgroup limits are being changed: they may be those below, others, or a mixture. */
  readonly limitsChanging?: true;
  /** Its programs and commands only have system calls of the ordinary ABI. */
  readonly nativeOnly?: true;
  /** Signal that asks init to shut down, if the configuration names one. */
  readonly haltSignal?: number;
  /** The current limits: LXC knows only those of the start, to which a reboot from inside returns. */
  readonly limits: Readonly<Record<string, string>>;
  /** Absent if an older release started it: its devices cannot be changed while it runs. */
  readonly devices?: DeviceState;
}

export interface DeviceState {
  readonly idmap: readonly IdMapEntry[];
  /** The properties of each device, as written by users. */
  readonly properties: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly now: DeviceParts;
  /** What LXC makes again at a reboot from inside. */
  readonly atStart: DeviceParts;
  /** Settings of host interfaces before the container got them, by host name. */
  readonly lent: Readonly<Record<string, InterfaceSettings>>;
}

/** veth interfaces of a container, whose host end vanishes with it, by name inside. */
export const cablesOf = (parts: Pick<DeviceParts, 'nics'>): Readonly<Record<string, string>> =>
  Object.fromEntries(parts.nics.filter((nic) => nic.kind === 'veth').map((nic) => [nic.name, nic.hostName]));

interface KnownProcess {
  readonly pid: number;
  readonly startTime: number;
}

export const withProcesses = (
  state: RunningRecord,
  init: KnownProcess,
  monitor: KnownProcess | undefined,
): RunningRecord => ({
  ...state,
  initPid: init.pid,
  initStartTime: init.startTime,
  monitorPid: monitor?.pid ?? 0,
  monitorStartTime: monitor?.startTime ?? 0,
});

export function started({ starting: _done, ...state }: RunningRecord): RunningRecord {
  return state;
}

export function writeRunningRecord(file: string, state: RunningRecord): void {
  writeFileSync(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Undefined if absent, or torn by a crash of the host. */
export function readRunningRecord(file: string): RunningRecord | undefined {
  try {
    const parsed = JSON.parse(readFileSync(file, 'utf8')) as RunningRecord;
    return typeof parsed.initPid === 'number' && typeof parsed.name === 'string' ? parsed : undefined;
  } catch {
    return undefined;
  }
}

export function removeRunningRecord(file: string): void {
  rmSync(file, { force: true });
}
