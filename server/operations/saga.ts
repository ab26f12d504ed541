// Multi-step host changes that survive a crash: steps with undo, and a stored intent from before the first to after the last.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { errorText } from '../lib/shared/reason.ts';
import { inSpan } from '../lib/shared/spans.ts';
import type { Kind } from '../records/documents.ts';
import type { Changes, Records } from '../records/records.ts';
import type { SagaKind } from '../records/saga-kinds.ts';
import { readSagaParams, sagaParams } from '../records/saga-params.ts';
import { PendingUndos, type RecordName, type UndoLocks } from './pending-undos.ts';

/** `execute` and `undo` must tolerate being run twice, and `undo` a step that never or only half happened. Without `undo` there is
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

/** `begin`, `commit` and `rollBack` add record changes to the transactions that store and remove the intent. */
export interface Saga<P> {
  readonly kind: SagaKind;
  /** After a crash: `unwind` undoes everything, `finish` runs all steps again. */
  readonly onRestart: 'unwind' | 'finish';
  /** Its last transaction changes more than this member's own records: nothing is undone before it is certain that it has not taken place
   *  and never will. */
  readonly isFenced?: boolean;
  begin(changes: Changes, params: P): void;
  readonly steps: readonly SagaStep<P>[];
  commit?(changes: Changes, params: P): void;
  rollBack?(changes: Changes, params: P): void;
}

/** What can be run, and what recovery finishes or undoes: services/sagas.ts. */
export type SagaTable = { readonly [K in SagaKind]?: Saga<never> };

interface Begun<P> {
  readonly id: string;
  readonly saga: Saga<P>;
  readonly params: P;
  readonly holds: readonly RecordName[];
}

/** Thrown while a change is being begun whose records an unfinished undo holds. */
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
    /** Under which an undo that failed is tried again. */
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

  /** All steps happened and are recorded, or (on a throw) all were undone and nothing is. Undoing that fails is tried again later,
   *  and until then nothing else may change what the saga holds. */
  async run<P>(saga: Saga<P>, params: P, given: Partial<SagaContext> = {}): Promise<void> {
    if (this.#table[saga.kind] === undefined)
      throw new Error(`The saga ${saga.kind} is not in the table of sagas: a crash could not be recovered from`);
    const context = { ...withoutEnd(), ...given };
    const begun = await this.#begin(saga, params);
    let done = 0;
    try {
      for (const step of saga.steps) {
        context.signal.throwIfAborted();
        done += 1;
        await inSpan(`${saga.kind}: ${step.name}`, {}, () => step.execute(params, context));
      }
      await this.#records.retry((changes) => {
        saga.commit?.(changes, params);
        changes.delete('sagas', begun.id);
      });
    } catch (error) {
      if ((await this.#unwind(begun, done)) === 'done') return;
      throw error;
    }
  }

  /** Changes that could not be undone so far, a sentence each. */
  get problems(): readonly string[] {
    return this.#undos.problems;
  }

  /** Whether undoing a change of this record failed so far. */
  isUndoing(kind: Kind, name: string): boolean {
    return this.#undos.holds(kind, name);
  }

  /** Tries now to undo what failed before. Throws unavailable with the reason when that still fails; does nothing when there is
   *  nothing to undo. The caller holds no lock of the record. */
  finishUndo(kind: Kind, name: string): Promise<void> {
    return this.#undos.finish(kind, name);
  }

  /** As `finishUndo`, for a caller that holds the lock of the record. */
  finishUndoHeld(kind: Kind, name: string): Promise<void> {
    return this.#undos.finishHeld([{ kind, name }]);
  }

  /** Work that failed for this reason, and that nobody waits for, is tried again until it succeeds or the daemon ends. It takes the
   *  locks that it needs itself. `what` is for messages: `recording that web stopped`. */
  tryLater(what: string, work: () => Promise<void>, reason: unknown): void {
    this.#undos.add({ id: what, what, holds: [], undo: work }, reason);
  }

  /** Nothing is tried again after that: the next daemon continues. */
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
      const begun = { id, saga, params: read.params, holds };
      if (saga.onRestart === 'unwind') await this.#unwind(begun, saga.steps.length);
      else await this.#finishOrUnwind(begun);
    }
  }

  #known(kind: SagaKind): Saga<unknown> | undefined {
    return this.#table[kind];
  }

  /** The caller holds the locks of the records, so an undo that was not possible so far is tried once more now. */
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
    const holds = await this.#records.retry((changes) => {
      saga.begin(changes, params);
      const held = heldBy(changes);
      if (held.some(({ kind, name }) => this.#undos.holds(kind, name))) throw new RecordsHeldError(held);
      const { version } = sagaParams[saga.kind];
      const startedAt = this.#clock.timestamp();
      changes.put('sagas', id, { v: 1, kind: saga.kind, version, params, startedAt, holds: held });
      return held;
    });
    return { id, saga, params, holds };
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

  async #finish<P>({ id, saga, params }: Begun<P>): Promise<void> {
    const context = withoutEnd();
    for (const step of saga.steps) await step.execute(params, context);
    await this.#records.retry((changes) => {
      saga.commit?.(changes, params);
      changes.delete('sagas', id);
    });
  }

  /** What cannot be undone now is undone later. */
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

  /** Some changes can only be finished once they have come far enough. */
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

  /** Steps in reverse. Stops at the first that fails: going on would leave even more behind. */
  async #undo<P>({ id, saga, params }: Begun<P>, stepCount: number): Promise<'done' | 'undone'> {
    if (saga.isFenced === true && !(await this.#fence(id))) return 'done';
    for (const step of saga.steps.slice(0, stepCount).toReversed()) {
      await step.undo?.(params).catch((cause: unknown) => {
        throw new Error(`step ${step.name}: ${errorText(cause)}`, { cause });
      });
    }
    await this.#records.retry((changes) => {
      saga.rollBack?.(changes, params);
      changes.delete('sagas', id);
    });
    return 'undone';
  }

  /** The last transaction removes the intent as it was: an intent that is written again keeps it from taking place late. False: it has
   *  taken place. */
  #fence(id: string): Promise<boolean> {
    return this.#records.retry((changes) => {
      const intent = this.#records.sagas.get(id)?.document;
      if (intent !== undefined) changes.put('sagas', id, intent);
      return intent !== undefined;
    });
  }
}

/** Nobody cancels, nobody watches the progress. */
const withoutEnd = (): SagaContext => ({ signal: new AbortController().signal, progress: () => {} });

/** Kinds whose objects one change at a time may touch, also where it changes no record of theirs before its end. */
const guarded: readonly Kind[] = ['containers', 'snapshots', 'backups', 'volumes', 'volumeSnapshots'];

/** Records that a change is about: those it writes at its beginning, or else those that it needs to stay. */
function heldBy(changes: Changes): readonly RecordName[] {
  const written = changes.written();
  return written.length > 0 ? written : changes.touched.filter(({ kind }) => guarded.includes(kind));
}
