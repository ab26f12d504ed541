// Checkpoints of simulated containers: their age, from which all their metrics follow.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DriverError, driverErrors } from '../../driver-error.ts';
import type { RunConfig, CheckpointAbility, Checkpoints } from '../driver.ts';
import type { SimFaults } from './faults.ts';
import type { SimRunningRecord } from './running-record.ts';
import { attempt } from '../../../lib/shared/attempt.ts';

export interface SimCheckpointRecords {
  need(name: string): SimRunningRecord;
  lock<T>(name: string, work: () => Promise<T>): Promise<T>;
  freeze(name: string): void;
  /** Ends it, and resolves once the exit was announced. */
  end(name: string): Promise<void>;
  start(run: RunConfig, signal: AbortSignal, ageMs: number): Promise<{ readonly initPid: number }>;
  now(): number;
}

interface CheckpointFile {
  readonly name: string;
  readonly ageMs: number;
  /** A sibling directory that is also needed. */
  readonly previous?: string;
}

const fileOf = (dir: string): string => join(dir, 'sim-state.json');
const memoryFileOf = (dir: string): string => join(dir, 'sim-memory.json');
type CheckpointOptions = Parameters<Checkpoints['checkpoint']>[1];

export class SimCheckpoints implements Checkpoints {
  readonly #book: SimCheckpointRecords;
  readonly #faults: SimFaults;

  constructor(book: SimCheckpointRecords, faults: SimFaults) {
    this.#book = book;
    this.#faults = faults;
  }

  async available(): Promise<CheckpointAbility> {
    const reason = this.#faults.checkpointsMissing;
    return reason === undefined ? { ok: true } : { ok: false, reason };
  }

  async prepare(
    name: string,
    { dir, previous }: { readonly dir: string; readonly previous?: string },
    signal: AbortSignal,
  ): Promise<{ readonly unchangedPercent: number }> {
    this.#refuse(name);
    await this.#faults.pass('checkpoint', name, signal);
    checkSiblings(dir, previous);
    const before = previous === undefined ? 0 : (read(memoryFileOf(previous))?.ageMs ?? 0);
    const { startedAt } = this.#book.need(name);
    const ageMs = Math.max(1, this.#book.now() - startedAt);
    write(memoryFileOf(dir), { name, ageMs });
    return { unchangedPercent: Math.floor((Math.min(before, ageMs) * 100) / ageMs) };
  }

  async checkpoint(name: string, options: CheckpointOptions, signal: AbortSignal): Promise<void> {
    const { dir, previous, leave, logFile } = options;
    await this.#book.lock(name, async () => {
      const { status, startedAt } = this.#refuse(name);
      if (status === 'frozen')
        throw driverErrors.failed(`Cannot checkpoint container "${name}"`, new Error('it is frozen'));
      checkSiblings(dir, previous);
      await this.#faults.pass('checkpoint', name, signal).catch((error: unknown) => {
        if (logFile !== undefined) writeFileSync(logFile, 'sim: the checkpoint failed\n');
        throw error;
      });
      const ageMs = this.#book.now() - startedAt;
      write(fileOf(dir), { name, ageMs, ...(previous === undefined ? {} : { previous: basename(previous) }) });
      if (leave === 'frozen') this.#book.freeze(name);
    });
    if (leave === 'stopped') await this.#book.end(name);
  }

  isComplete(dir: string): boolean {
    return read(fileOf(dir)) !== undefined;
  }

  async restore(
    run: RunConfig,
    { dir }: { readonly dir: string },
    signal: AbortSignal,
  ): Promise<{ readonly initPid: number }> {
    const ability = await this.available();
    const fail = (code: 'NotSupported' | 'Failed', why: string): never => {
      throw new DriverError(code, `Cannot restore the checkpoint of container "${run.name}"`, new Error(why));
    };
    if (!ability.ok) return fail('NotSupported', ability.reason);
    const stored = read(fileOf(dir)) ?? fail('Failed', `${dir} does not hold all of it`);
    const { previous } = stored;
    if (previous !== undefined && read(memoryFileOf(join(dirname(dir), previous))) === undefined) {
      fail('Failed', `the memory in ${previous} is missing`);
    }
    await this.#faults.pass('restore', run.name, signal);
    return this.#book.start(run, signal, stored.ageMs);
  }

  #refuse(name: string): SimRunningRecord {
    const state = this.#book.need(name);
    const reason = this.#faults.checkpointsMissing;
    if (reason === undefined) return state;
    throw driverErrors.notSupported(`Cannot checkpoint container "${name}"`, new Error(reason));
  }
}

function checkSiblings(dir: string, previous: string | undefined): void {
  if (previous === undefined || dirname(previous) === dirname(dir)) return;
  throw driverErrors.invalid(`${previous} and ${dir} must lie in the same directory`);
}

function write(file: string, stored: CheckpointFile): void {
  writeFileSync(`${file}.new`, JSON.stringify(stored), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

const read = (file: string): CheckpointFile | undefined =>
  attempt(() => JSON.parse(readFileSync(file, 'utf8')) as CheckpointFile);
