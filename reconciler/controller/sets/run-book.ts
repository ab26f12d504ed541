// The runs of a set: operations at work, and the history of those that ended.
import type { Hub } from '../hub.ts';
import type { Operation, RunRecord } from '../http/contract.ts';
import type { RecordLog } from './state-file.ts';
import { Run, type RunStart } from './run.ts';

const mostEnded = 100;

export class RunBook {
  readonly #set: string;
  readonly #history: RecordLog<RunRecord>;
  readonly #hub: Hub;
  readonly #runs = new Map<string, Run>();

  constructor(set: string, history: RecordLog<RunRecord>, hub: Hub) {
    this.#set = set;
    this.#history = history;
    this.#hub = hub;
  }

  /** Runs of a process that is gone never end. */
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
    const run = new Run(this.#set, start, nowMs, (record) => this.#history.put(record), this.#hub);
    this.#runs.set(run.id, run);
    const ended = [...this.#runs.values()].filter(({ isEnded }) => isEnded);
    for (const one of ended.slice(0, Math.max(0, ended.length - mostEnded))) this.#runs.delete(one.id);
    return run;
  }

  /** Those at work go no further. */
  endAll(why: string, nowMs: number): void {
    for (const run of this.#runs.values()) run.end('cancelled', nowMs, why);
  }

  operations(): readonly Operation[] {
    return [...this.#runs.values()].map((run) => run.operation).reverse();
  }

  history(limit: number): readonly RunRecord[] {
    // Those at work are stored when they begin and when they end.
    return this.#history.list(limit).map((stored) => this.#runs.get(stored.id)?.record ?? stored);
  }
}
