// What the LXC driver remembers of a running container over its own restart: one small file per container.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

export interface RunState {
  readonly name: string;
  readonly bootId: string;
  readonly initPid: number;
  readonly initStartTime: number;
  readonly monitorPid: number;
  readonly monitorStartTime: number;
  /** Host names of the interfaces to be gone when the container is, by name inside. */
  readonly nics: Readonly<Record<string, string>>;
  /** Signal that asks init to shut down, when the configuration names one. */
  readonly haltSignal?: number;
  /** The limits in force: LXC knows only those of the start, and a reboot from inside goes back to them. */
  readonly limits: Readonly<Record<string, string>>;
  /** Cpus this container is confined to; empty = all. */
  readonly cpus: readonly number[];
}

export function writeRunState(file: string, state: RunState): void {
  writeFileSync(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Undefined when absent, or torn by a crash of the host. */
export function readRunState(file: string): RunState | undefined {
  try {
    const parsed = JSON.parse(readFileSync(file, 'utf8')) as RunState;
    return typeof parsed.initPid === 'number' && typeof parsed.name === 'string' ? parsed : undefined;
  } catch {
    return undefined;
  }
}

export function removeRunState(file: string): void {
  rmSync(file, { force: true });
}
