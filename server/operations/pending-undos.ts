// Retries failed undos: with growing pauses, and at once when a caller needs the objects they hold. The saga defines each undo.
import { errors } from '../api/errors.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import type { Log } from '../lib/log.ts';
import { errorText } from '../lib/shared/reason.ts';
import type { Kind } from '../records/documents.ts';

/** A record that a change in progress has marked, or requires to stay. */
export interface RecordName {
  readonly kind: Kind;
  readonly name: string;
}

export interface FailedUndo {
  /** The id of the intent, which stays stored until it is undone. A second undo with the same id is ignored. */
  readonly id: string;
  /** For messages: `undoing container-create`. */
  readonly what: string;
  readonly holds: readonly RecordName[];
  /** Idempotent. Throws while it fails. */
  readonly undo: () => Promise<void>;
}

export interface UndoLocks {
  readonly locks: KeyedMutex;
  /** Keys of the locks under which others change this record. */
  readonly keysOf: (record: RecordName) => readonly string[];
}

interface Pending extends FailedUndo {
  attempts: number;
  reason: string;
  timer: NodeJS.Timeout | undefined;
  /** The attempt under way. */
  running: Promise<void> | undefined;
}

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;

/** 1 s, 2 s, 4 s … up to a minute. Pure. */
export const pauseAfter = (attempts: number): number => Math.min(firstPauseMs * 2 ** (attempts - 1), longestPauseMs);

export class PendingUndos {
  readonly #pending = new Map<string, Pending>();
  readonly #log: Log;
  readonly #locks: UndoLocks;
  #isClosed = false;

  constructor(log: Log, locks: UndoLocks = { locks: new KeyedMutex(), keysOf: () => [] }) {
    this.#log = log;
    this.#locks = locks;
  }

  add(failed: FailedUndo, reason: unknown): void {
    if (this.#pending.has(failed.id)) return;
    const pending: Pending = {
      ...failed,
      attempts: 1,
      reason: errorText(reason),
      timer: undefined,
      running: undefined,
    };
    this.#pending.set(failed.id, pending);
    const what = `${failed.what.charAt(0).toUpperCase()}${failed.what.slice(1)}`;
    this.#log.error(`${what} failed, and is tried again until it succeeds: ${pending.reason}`, { saga: failed.id });
    this.#schedule(pending);
  }

  /** One sentence per pending undo. */
  get problems(): readonly string[] {
    return [...this.#pending.values()].map(({ what, reason }) => `${what} failed: ${reason}`);
  }

  holds(kind: Kind, name: string): boolean {
    return this.#of([{ kind, name }]).length > 0;
  }

  /** Retries now the undo that holds this record. Throws unavailable with the reason if it still fails. The caller must not hold its locks. */
  async finish(kind: Kind, name: string): Promise<void> {
    for (const pending of this.#of([{ kind, name }])) {
      await this.#locked(pending);
      this.#refuse(pending, { kind, name });
    }
  }

  /** Like `finish`, for a caller that holds the locks of these records. */
  async finishHeld(records: readonly RecordName[]): Promise<void> {
    for (const pending of this.#of(records)) {
      await this.#attempt(pending);
      const record = records.find((each) => isHeld(pending, each));
      if (record !== undefined) this.#refuse(pending, record);
    }
  }

  /** Waits for running attempts. Intents stay stored: the next daemon continues. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { timer } of this.#pending.values()) clearTimeout(timer);
    await Promise.all([...this.#pending.values()].flatMap(({ running }) => running ?? []));
    this.#pending.clear();
  }

  #of(records: readonly RecordName[]): readonly Pending[] {
    if (this.#pending.size === 0) return [];
    return [...this.#pending.values()].filter((pending) => records.some((record) => isHeld(pending, record)));
  }

  #refuse({ id, what, reason }: Pending, { kind, name }: RecordName): void {
    if (!this.#pending.has(id)) return;
    throw errors.unavailable(
      `${name} (${kind}) cannot be used yet: ${what} failed (${reason}). It is retried automatically; remove the cause, or try again later`,
    );
  }

  #locked(pending: Pending): Promise<void> {
    const keys = pending.holds.flatMap((record) => this.#locks.keysOf(record));
    return this.#locks.locks.runAll(keys, () => this.#attempt(pending));
  }

  /** Never rejects. One at a time. */
  #attempt(pending: Pending): Promise<void> {
    if (this.#isClosed || !this.#pending.has(pending.id)) return Promise.resolve();
    pending.running ??= this.#try(pending).finally(() => (pending.running = undefined));
    return pending.running;
  }

  async #try(pending: Pending): Promise<void> {
    clearTimeout(pending.timer);
    try {
      await pending.undo();
      this.#pending.delete(pending.id);
      this.#log.info(`Succeeded at last: ${pending.what}`, { saga: pending.id });
    } catch (error) {
      pending.attempts += 1;
      pending.reason = errorText(error);
      this.#log.debug(`Failed again: ${pending.what}: ${pending.reason}`, { saga: pending.id });
      this.#schedule(pending);
    }
  }

  #schedule(pending: Pending): void {
    if (this.#isClosed) return;
    pending.timer = setTimeout(() => void this.#locked(pending), pauseAfter(pending.attempts));
    pending.timer.unref();
  }
}

const isHeld = ({ holds }: FailedUndo, { kind, name }: RecordName): boolean =>
  holds.some((held) => held.kind === kind && held.name === name);
