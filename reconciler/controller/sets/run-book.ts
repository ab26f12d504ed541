// The runs of a set: those that are running, and the history of those that ended.
import type { Hub } from '../hub.ts';
import type { Operation, RunRecord } from '../contract/index.ts';
import { joinedTries, repeatedBy } from '../decide/failed-alike.ts';
import type { RecordLog } from './state-file.ts';
import { Run, type RunStart } from './run.ts';

const maxEnded = 100;

export class RunBook {
  readonly #set: string;
  readonly #history: RecordLog<RunRecord>;
  readonly #hub: Hub;
  readonly #runs = new Map<string, Run>();
  readonly #onRepeated: (run: RunRecord) => void;

  /** `onRepeated` is called with a run that a later try replaces in the history. */
  constructor(set: string, history: RecordLog<RunRecord>, hub: Hub, onRepeated: (run: RunRecord) => void) {
    this.#set = set;
    this.#history = history;
    this.#hub = hub;
    this.#onRepeated = onRepeated;
  }

  /** Closes the runs of an earlier process, which would never end. */
  closeOpen(nowMs: number): void {
    for (const record of this.#history.list(Number.MAX_SAFE_INTEGER))
      if (record.outcome === 'running' && !this.#runs.has(record.id))
        this.#history.put({
          ...record,
          outcome: 'cancelled',
          endedAt: new Date(nowMs).toISOString(),
          message: 'The controller ended during this run.',
        });
  }

  begin(start: RunStart, nowMs: number): Run {
    const run = new Run(this.#set, start, nowMs, (record) => this.#store(record), this.#hub);
    this.#runs.set(run.id, run);
    const ended = [...this.#runs.values()].filter(({ isEnded }) => isEnded);
    for (const one of ended.slice(0, Math.max(0, ended.length - maxEnded))) this.#runs.delete(one.id);
    return run;
  }

  /** Ends all running runs. */
  endAll(why: string, nowMs: number): void {
    for (const run of this.#runs.values()) run.end('cancelled', nowMs, why);
  }

  operations(): readonly Operation[] {
    return [...this.#runs.values()].map((run) => run.operation).reverse();
  }

  history(limit: number): readonly RunRecord[] {
    // A running run is stored only when it begins and ends, so its newest record is in memory.
    return this.#history.list(limit).map((stored) => {
      const run = this.#runs.get(stored.id);
      return run === undefined || run.isEnded ? stored : run.record;
    });
  }

  #store(record: RunRecord): void {
    const before = repeatedBy(record, this.#history.list(Number.MAX_SAFE_INTEGER));
    if (before === undefined) return this.#history.put(record);
    this.#history.remove(before.id);
    this.#runs.delete(before.id);
    this.#onRepeated(before);
    this.#history.put(joinedTries(before, record));
  }
}
