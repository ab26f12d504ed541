// The records of a set, kept over restarts: its runs, their changes to objects, and drift.
import { join } from 'node:path';
import type { DriftRecord, ObjectChange, RunRecord } from '../contract/index.ts';
import type { Hub } from '../hub.ts';
import { changesId, changesOf, weightOfChanges, type HostChanges } from './object-history.ts';
import type { HookRecord } from './hooks/set-hooks.ts';
import { RunBook } from './run-book.ts';
import { RecordLog } from './state-file.ts';

/** Changes to single objects that a set remembers: some 20 MB at most. */
const maxChanges = 200_000;

export class SetRecords {
  readonly drift: RecordLog<DriftRecord>;
  readonly runs: RunBook;
  /** The output of hooks. */
  readonly hooks: RecordLog<HookRecord>;
  readonly #history: RecordLog<RunRecord>;
  readonly #changes: RecordLog<HostChanges>;

  constructor(stateDir: string, set: string, hub: Hub) {
    const folder = join(stateDir, 'sets', set);
    this.drift = new RecordLog(join(folder, 'drift.ndjson'), 5000);
    this.hooks = new RecordLog(join(folder, 'hooks.ndjson'), 200);
    this.#history = new RecordLog(join(folder, 'history.ndjson'), 1000);
    this.#changes = new RecordLog(join(folder, 'changes.ndjson'), maxChanges, weightOfChanges);
    this.runs = new RunBook(set, this.#history, hub, ({ id, hosts }) => {
      for (const host of hosts) this.#changes.remove(changesId(id, host));
    });
  }

  async load(): Promise<void> {
    await Promise.all([this.#history.load(), this.#changes.load(), this.drift.load(), this.hooks.load()]);
  }

  async flush(): Promise<void> {
    await Promise.all([this.#history.flush(), this.#changes.flush(), this.drift.flush(), this.hooks.flush()]);
  }

  allDrift(): readonly DriftRecord[] {
    return this.drift.list(Number.MAX_SAFE_INTEGER);
  }

  noteChanges(changes: HostChanges): void {
    this.#changes.put(changes);
  }

  /** What runs did to one object, newest first. */
  changesOf(host: string, address: string): readonly ObjectChange[] {
    const records = this.#changes.list(Number.MAX_SAFE_INTEGER);
    return changesOf(records, (id) => this.#history.get(id), host, address);
  }
}
