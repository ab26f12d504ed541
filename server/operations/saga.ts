// Multi-step host changes that survive a crash: steps with undo, and a stored intent from before the first to after the last.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { errorText, type Log } from '../lib/log.ts';
import type { Changes, Records } from '../records/records.ts';

/** `execute` and `undo` must tolerate being run twice, and `undo` a step that never or only half happened. */
export interface SagaStep<P> {
  readonly name: string;
  execute(params: P, context: SagaContext): Promise<void>;
  undo(params: P): Promise<void>;
}

export interface SagaContext {
  readonly signal: AbortSignal;
  readonly progress: (metadata: Readonly<Record<string, unknown>>) => void;
}

/** `begin`, `commit` and `rollBack` add record changes to the transactions that store and remove the intent. */
export interface Saga<P> {
  readonly kind: string;
  /** After a crash: `unwind` undoes everything, `finish` runs all steps again. */
  readonly onRestart: 'unwind' | 'finish';
  begin(changes: Changes, params: P): void;
  readonly steps: readonly SagaStep<P>[];
  commit(changes: Changes, params: P): void;
  rollBack(changes: Changes, params: P): void;
}

export class Sagas {
  readonly #records: Records;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(deps: { readonly records: Records; readonly clock: Clock; readonly log: Log }) {
    this.#records = deps.records;
    this.#clock = deps.clock;
    this.#log = deps.log;
  }

  /** All steps happened and are recorded, or (on a throw) all were undone and nothing is. */
  async run<P>(saga: Saga<P>, params: P, context: SagaContext): Promise<void> {
    const id = randomUUID();
    await this.#records.retry((changes) => {
      saga.begin(changes, params);
      changes.put('sagas', id, { v: 1, kind: saga.kind, params, startedAt: this.#clock.timestamp() });
    });
    let done = 0;
    try {
      for (const step of saga.steps) {
        context.signal.throwIfAborted();
        done += 1;
        await step.execute(params, context);
      }
      await this.#records.retry((changes) => {
        saga.commit(changes, params);
        changes.delete('sagas', id);
      });
    } catch (error) {
      await this.#unwind(saga, id, params, done);
      throw error;
    }
  }

  /** At daemon start, before anything else may change: finishes or unwinds what a crash left. */
  async recover(known: readonly Saga<never>[]): Promise<void> {
    for (const { name: id, document } of this.#records.sagas.list()) {
      const saga: Saga<unknown> | undefined = known.find((candidate) => candidate.kind === document.kind);
      if (saga === undefined) {
        this.#log.error(`A half-done change of an unknown kind was found and left alone: ${document.kind}`, {
          saga: id,
        });
        continue;
      }
      this.#log.info(
        `${saga.onRestart === 'finish' ? 'Finishing' : 'Undoing'} a change that a crash interrupted: ${saga.kind}`,
        {
          saga: id,
        },
      );
      if (saga.onRestart === 'unwind') await this.#unwind(saga, id, document.params, saga.steps.length);
      else await this.#finish(saga, id, document.params);
    }
  }

  async #finish(saga: Saga<unknown>, id: string, params: unknown): Promise<void> {
    const context: SagaContext = { signal: new AbortController().signal, progress: () => {} };
    try {
      for (const step of saga.steps) await step.execute(params, context);
      await this.#records.retry((changes) => {
        saga.commit(changes, params);
        changes.delete('sagas', id);
      });
    } catch (error) {
      this.#log.error(`Finishing ${saga.kind} failed, undoing it: ${errorText(error)}`, { saga: id });
      await this.#unwind(saga, id, params, saga.steps.length);
    }
  }

  async #unwind<P>(saga: Saga<P>, id: string, params: P, stepCount: number): Promise<void> {
    for (const step of saga.steps.slice(0, stepCount).toReversed()) {
      try {
        await step.undo(params);
      } catch (error) {
        // The intent stays stored, so the next start tries again; stopping here would leave even more behind.
        this.#log.error(`Undoing step ${step.name} of ${saga.kind} failed: ${errorText(error)}`, { saga: id });
        return;
      }
    }
    try {
      await this.#records.retry((changes) => {
        saga.rollBack(changes, params);
        changes.delete('sagas', id);
      });
    } catch (error) {
      this.#log.error(`Recording that ${saga.kind} was undone failed: ${errorText(error)}`, { saga: id });
    }
  }
}
