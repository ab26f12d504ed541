// Decides which revisions of history stay, and removes the others in small steps that delay no write.
import type { SqliteConnection, Statement } from './driver.ts';
import type { HistoryLimits } from './protocol.ts';
import type { Rev } from '../store.ts';

/** Number of rows removed by one step. */
const stepRows = 256;

/** Minimum of free pages before the file shrinks. */
const freePagesKept = 256;

export class SqliteHistory {
  readonly #limits: HistoryLimits;
  readonly #db: SqliteConnection;
  readonly #remove: Statement;
  /** The revision at some past moments; revisions of earlier runs count from the start. */
  #ages: { rev: Rev; atMs: number }[] = [];
  /** The newest revision known to be older than maxAgeMs. */
  #agedRev: Rev = 0;
  #hasLeftovers = true;

  constructor(db: SqliteConnection, limits: HistoryLimits) {
    this.#db = db;
    this.#limits = limits;
    this.#remove = db.prepare(
      'DELETE FROM ev WHERE rowid IN (SELECT rowid FROM ev WHERE rev < ? ORDER BY rev LIMIT ?)',
    );
  }

  /** The oldest revision to keep now. */
  keepFrom(rev: Rev, compactRev: Rev): Rev {
    const { minRevisions, maxRevisions } = this.#limits;
    this.#noteAge(rev);
    const unneeded = Math.max(this.#agedRev + 1, rev - maxRevisions + 1);
    return Math.max(compactRev, Math.min(rev - minRevisions + 1, unneeded));
  }

  /** Removes one step of compacted rows; call it within a transaction. */
  removeStep(compactRev: Rev, rows: number = stepRows): void {
    this.#hasLeftovers = Number(this.#remove.run(compactRev, rows).changes) === rows;
  }

  /** Notes a compaction: there may be rows to remove. */
  noteCompaction(): void {
    this.#hasLeftovers = true;
  }

  get hasLeftovers(): boolean {
    return this.#hasLeftovers;
  }

  /** Returns some free pages to the file system; true if more remain. */
  shrinkStep(): boolean {
    const free = Number(this.#db.prepare('PRAGMA freelist_count').get()?.['freelist_count'] ?? 0);
    if (free <= freePagesKept) return false;
    // The pragma frees a page a row, so all its rows have to be read.
    this.#db.prepare(`PRAGMA incremental_vacuum(${stepRows})`).all();
    return free - stepRows > freePagesKept;
  }

  #noteAge(rev: Rev): void {
    const { maxAgeMs } = this.#limits;
    const nowMs = performance.now();
    const newest = this.#ages.at(-1);
    if (newest === undefined || nowMs - newest.atMs >= maxAgeMs / 20) this.#ages.push({ rev, atMs: nowMs });
    const young = this.#ages.findIndex(({ atMs }) => nowMs - atMs < maxAgeMs);
    const aged = this.#ages.splice(0, young === -1 ? this.#ages.length : young);
    this.#agedRev = aged.at(-1)?.rev ?? this.#agedRev;
  }
}
