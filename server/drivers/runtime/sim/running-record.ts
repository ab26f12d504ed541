// One small file per simulated container, so that containers "keep running" while no daemon does.
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunConfig, RuntimeStatus } from '../driver.ts';
import { encodeName } from '../safe-names.ts';

export interface SimRunningRecord {
  readonly run: RunConfig;
  readonly status: Exclude<RuntimeStatus, 'stopped'>;
  readonly initPid: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly limits: Readonly<Record<string, string>>;
  /** A stop or reboot while no daemon ran. */
  readonly unseen?: 'stop' | 'reboot';
}

export interface SimRunningRecords {
  readAll(): readonly SimRunningRecord[];
  write(state: SimRunningRecord): void;
  remove(name: string): void;
  /** Absent: they are not in files. */
  fileOf?(name: string): string;
}

export class SimRecordFiles implements SimRunningRecords {
  readonly #dir: string;
  constructor(dir: string) {
    this.#dir = dir;
    mkdirSync(dir, { recursive: true });
  }

  readAll(): readonly SimRunningRecord[] {
    return readdirSync(this.#dir)
      .filter((file) => file.endsWith('.json'))
      .map((file) => JSON.parse(readFileSync(join(this.#dir, file), 'utf8')) as SimRunningRecord);
  }

  write(state: SimRunningRecord): void {
    const file = this.fileOf(state.run.name);
    writeFileSync(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  remove(name: string): void {
    rmSync(this.fileOf(name), { force: true });
  }

  fileOf(name: string): string {
    // Names that differ only in case get different files, also on a case-insensitive file system.
    const marked = encodeName(name).replace(/[A-Z]/g, (letter) => `@@${letter}`);
    return join(this.#dir, `${marked}.json`);
  }
}

/** In memory, for a runtime that is not opened again. */
export function heldRecords(first: readonly SimRunningRecord[]): SimRunningRecords {
  const records = new Map(first.map((state) => [state.run.name, state]));
  return {
    readAll: () => [...records.values()],
    write: (state) => void records.set(state.run.name, state),
    remove: (name) => void records.delete(name),
  };
}

/** For tests: ends (or reboots) a container while no runtime is open on `dir`; the next one's `recover` notices. */
export function endWhileDown(dir: string, name: string, target: 'stop' | 'reboot'): void {
  const files = new SimRecordFiles(dir);
  const state = files.readAll().find((one) => one.run.name === name);
  if (state === undefined) throw new Error(`no simulated container "${name}" runs in ${dir}`);
  files.write({ ...state, unseen: target });
}
