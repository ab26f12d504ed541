// Multi-step host changes that survive a crash: steps with undo, and a stored intent from before the first to after the last.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { failuresOf } from '../lib/run-all.ts';
import { errorText } from '../lib/shared/reason.ts';
import { inSpan } from '../lib/shared/spans.ts';
import type { Kind } from '../records/documents.ts';
import { isOutcomeUnknown, type Changes, type Records } from '../records/records.ts';
import { readSagaParams, type SagaKind, sagaParams } from '../records/saga-params.ts';
import { PendingUndos, type RecordName, type UndoLocks } from './pending-undos.ts';

/** `execute` and `undo` must be idempotent, and `undo` must cope with a step that happened in part or not at all. Steps without `undo` have
 *  nothing to take back. */
export interface SagaStep<P> {
  readonly name: string;
  execute(params: P, context: SagaContext): Promise<void>;
  undo?(params: P): Promise<void>;
}

export interface SagaContext {
  readonly signal: AbortSignal;
  readonly progress: (metadata: Readonly<Record<string, unknown>>) => void;
}

/** `begin`, `commit` and `rollBack` add record changes to the transactions that store and remove the intent. `stepsDone`: how many steps this
 *  daemon has completed, 0 after a crash. */
export interface Saga<P> {
  readonly kind: SagaKind;
  /** After a crash: `unwind` undoes everything, `finish` runs all steps again. */
  readonly onRestart: 'unwind' | 'finish';
  /** Its last transaction changes other members' records: it is fenced before an undo, so that it has not happened and never will. */
  readonly isFenced?: boolean;
  /** Throws if files without a record are at its place. Comes before the intent, so that after a crash all that is there is the saga's own,
   *  and an undo removes nothing else. */
  refuse?(params: P): Promise<void>;
  begin(changes: Changes, params: P): void;
  readonly steps: readonly SagaStep<P>[];
  commit?(changes: Changes, params: P): void;
  rollBack?(changes: Changes, params: P, stepsDone: number): void;
}

/** What can be run, and what recovery finishes or undoes: the composition's saga table. */
export type SagaTable = { readonly [K in SagaKind]?: Saga<never> };

interface Begun<P> {
  readonly id: string;
  readonly saga: Saga<P>;
  readonly params: P;
  readonly holds: readonly RecordName[];
  stepsDone: number;
  /** The store could not tell whether the last transaction has happened. */
  mayHaveEnded?: boolean;
}

/** Thrown when a change begins on records that an unfinished undo holds. */
class RecordsHeldError extends Error {
  readonly holds: readonly RecordName[];
  constructor(holds: readonly RecordName[]) {
    super('an unfinished undo holds these records');
    this.holds = holds;
  }
}

export class Sagas {
  readonly #records: Records;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #table: SagaTable;
  readonly #undos: PendingUndos;

  constructor(deps: {
    readonly records: Records;
    readonly clock: Clock;
    readonly log: Log;
    readonly table: SagaTable;
    /** The locks under which a failed undo is retried. */
    readonly undoLocks?: UndoLocks;
  }) {
    this.#records = deps.records;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#table = deps.table;
    for (const [kind, saga] of Object.entries(deps.table))
      if (saga.kind !== kind) throw new Error(`The saga ${saga.kind} is in the table of sagas as ${kind}`);
    this.#undos = new PendingUndos(deps.log, deps.undoLocks);
  }

  /** Runs all steps and records them, or (on a throw) undoes all. A failed undo is retried later; until then no other change may touch what
   *  the saga holds. */
  async run<P>(saga: Saga<P>, params: P, overrides: Partial<SagaContext> = {}): Promise<void> {
    if (this.#table[saga.kind] === undefined)
      throw new Error(`The saga ${saga.kind} is not in the table of sagas: a crash could not be recovered from`);
    const begun = await this.#begin(saga, params);
    try {
      await this.#finish(begun, { ...withoutEnd(), ...overrides });
    } catch (error) {
      if ((await this.#unwind(begun, begun.stepsDone + 1)) === 'done') return;
      throw error;
    }
  }

  /** One sentence per change that could not be undone yet. */
  get problems(): readonly string[] {
    return this.#undos.problems;
  }

  /** Whether an undo of a change to this record has failed so far. */
  isUndoing(kind: Kind, name: string): boolean {
    return this.#undos.holds(kind, name);
  }

  /** Retries failed undos of this record now. Throws unavailable with the reason if one still fails; does nothing if there is none. The
   *  caller must not hold the record's lock. */
  finishUndo(kind: Kind, name: string): Promise<void> {
    return this.#undos.finish(kind, name);
  }

  /** Like `finishUndo`, for a caller that holds the record's lock. */
  finishUndoHeld(kind: Kind, name: string): Promise<void> {
    return this.#undos.finishHeld([{ kind, name }]);
  }

  /** Retries background work that failed for this reason until it succeeds or the daemon ends. The work takes its own locks. `what` is for
   *  messages: `recording that web stopped`. */
  tryLater(what: string, work: () => Promise<void>, reason: unknown): void {
    this.#undos.add({ id: what, what, holds: [], undo: work }, reason);
  }

  /** Stops retries: the next daemon continues. */
  close(): Promise<void> {
    return this.#undos.close();
  }

  /** At daemon start, before anything else may change: finishes or unwinds what a crash left. */
  async recover(): Promise<void> {
    for (const { name: id, document } of this.#records.sagas.list()) {
      const holds = document.holds ?? [];
      const read = readSagaParams(document);
      const saga = 'kind' in read ? this.#known(read.kind) : undefined;
      if (!('kind' in read) || saga === undefined) {
        const reason = new Error('problem' in read ? read.problem : 'this daemon does not run such changes');
        const undo = (): Promise<void> => Promise.reject(reason);
        this.#undos.add(
          { id, what: `ending the change ${document.kind} that a crash interrupted`, holds, undo },
          reason,
        );
        continue;
      }
      this.#log.info(
        `${saga.onRestart === 'finish' ? 'Finishing' : 'Undoing'} a change that a crash interrupted: ${saga.kind}`,
        { saga: id },
      );
      const begun = { id, saga, params: read.params, holds, stepsDone: 0 };
      if (saga.onRestart === 'unwind') await this.#unwind(begun, saga.steps.length);
      else await this.#finishOrUnwind(begun);
    }
  }

  #known(kind: SagaKind): Saga<unknown> | undefined {
    return this.#table[kind];
  }

  /** The caller holds the locks of the records, so a pending undo is retried once more. */
  async #begin<P>(saga: Saga<P>, params: P): Promise<Begun<P>> {
    try {
      return await this.#store(saga, params);
    } catch (error) {
      if (!(error instanceof RecordsHeldError)) throw error;
      await this.#undos.finishHeld(error.holds);
      return this.#store(saga, params);
    }
  }

  async #store<P>(saga: Saga<P>, params: P): Promise<Begun<P>> {
    const id = randomUUID();
    const refusals = saga.refuse === undefined ? [] : await failuresOf([() => saga.refuse?.(params)]);
    const holds = await this.#records.retry((changes) => {
      saga.begin(changes, params);
      const heldRecords = heldBy(changes);
      if (heldRecords.some(({ kind, name }) => this.#undos.holds(kind, name))) throw new RecordsHeldError(heldRecords);
      for (const refusal of refusals) throw refusal;
      const { version } = sagaParams[saga.kind];
      const startedAt = this.#clock.timestamp();
      changes.put('sagas', id, { v: 1, kind: saga.kind, version, params, startedAt, holds: heldRecords });
      return heldRecords;
    });
    return { id, saga, params, holds, stepsDone: 0 };
  }

  async #finishOrUnwind(begun: Begun<unknown>): Promise<void> {
    const { id, saga } = begun;
    try {
      await this.#finish(begun);
    } catch (error) {
      this.#log.error(`Finishing ${saga.kind} failed, undoing it: ${errorText(error)}`, { saga: id });
      await this.#unwind(begun, saga.steps.length);
    }
  }

  async #finish<P>(begun: Begun<P>, context = withoutEnd()): Promise<void> {
    const { saga, params } = begun;
    for (const [index, step] of saga.steps.entries()) {
      context.signal.throwIfAborted();
      await inSpan(`${saga.kind}: ${step.name}`, {}, () => step.execute(params, context));
      begun.stepsDone = Math.max(begun.stepsDone, index + 1);
    }
    await this.#end(begun);
  }

  /** The last transaction. */
  async #end<P>(begun: Begun<P>): Promise<void> {
    const { id, saga, params } = begun;
    try {
      await this.#records.retry((changes) => {
        saga.commit?.(changes, params);
        changes.delete('sagas', id);
      });
    } catch (error) {
      if (isOutcomeUnknown(error)) begun.mayHaveEnded = true;
      throw error;
    }
  }

  /** A step that cannot be undone now is undone later. */
  async #unwind<P>(begun: Begun<P>, stepCount: number): Promise<'done' | 'undone' | 'pending'> {
    const { id, saga, holds } = begun;
    try {
      return await this.#undo(begun, stepCount);
    } catch (reason) {
      const undo = (): Promise<void> => this.#undoOrFinish(begun, stepCount);
      this.#undos.add({ id, what: `undoing ${saga.kind}`, holds, undo }, reason);
      return 'pending';
    }
  }

  /** Some changes, once far enough, can only be finished. */
  async #undoOrFinish<P>(begun: Begun<P>, stepCount: number): Promise<void> {
    try {
      await this.#undo(begun, stepCount);
    } catch (reason) {
      if (begun.saga.onRestart !== 'finish') throw reason;
      await this.#finish(begun).catch(() => {
        throw reason;
      });
    }
  }

  /** Undoes steps in reverse. Stops at the first failure: undoing more would leave a worse state. A change that may have ended is fenced
   *  first: its records may say already what the host would no longer have. */
  async #undo<P>(begun: Begun<P>, stepCount: number): Promise<'done' | 'undone'> {
    const { id, saga, params, stepsDone, mayHaveEnded } = begun;
    const isFenced = saga.isFenced === true || mayHaveEnded === true;
    if (isFenced && !(await this.#fence(id))) return 'done';
    for (const step of saga.steps.slice(0, stepCount).toReversed()) {
      await step.undo?.(params).catch((cause: unknown) => {
        throw new Error(`step ${step.name}: ${errorText(cause)}`, { cause });
      });
    }
    await this.#records.retry((changes) => {
      saga.rollBack?.(changes, params, stepsDone);
      changes.delete('sagas', id);
    });
    return 'undone';
  }

  /** The last transaction expects the intent unchanged: writing it again keeps a delayed transaction from succeeding. False: it has
   *  succeeded. */
  #fence(id: string): Promise<boolean> {
    return this.#records.retry((changes) => {
      const intent = this.#records.sagas.get(id)?.document;
      if (intent !== undefined) changes.put('sagas', id, intent);
      return intent !== undefined;
    });
  }
}

/** Without a client to cancel it or to watch its progress. */
const withoutEnd = (): SagaContext => ({ signal: new AbortController().signal, progress: () => {} });

/** Kinds whose objects allow one change at a time, even if it changes their records only at its end. */
const guarded: readonly Kind[] = ['containers', 'snapshots', 'backups', 'volumes', 'volumeSnapshots'];

/** The records of a change: those it writes at its beginning, or else those it requires. */
function heldBy(changes: Changes): readonly RecordName[] {
  const written = changes.written();
  return written.length > 0 ? written : changes.touched.filter(({ kind }) => guarded.includes(kind));
}
