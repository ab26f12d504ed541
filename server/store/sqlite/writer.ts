// Writes to the SQLite file, in the worker: a batch of transactions is one commit, and so one disk sync.
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type SqliteConnection, type Statement, isFullDisk, isIoError, sqliteError } from './driver.ts';
import type { SqliteHistory } from './history.ts';
import type { Effect, TxnOutcome, WireTxn } from './protocol.ts';
import { type Meta, noValue, recordSum } from './schema.ts';
import { storeErrors } from '../store-errors.ts';
import { type Op, type Rev, StoreError } from '../store.ts';

/** Removed history rows for each written operation: removal is faster than growth. */
const removedPerOp = 4;

/** Pages that are only in the log before the file grows for them: little beside the room that the daemon keeps in reserve. */
const maxPagesToGrow = 32;

/** The file grows at once when the disk has less room than this. */
const scarceBytes = 8 * 1024 * 1024;

export interface SqliteWriterDeps {
  readonly db: SqliteConnection;
  readonly path: string;
  readonly meta: Meta;
  readonly history: SqliteHistory;
}

export class SqliteWriter {
  readonly #deps: SqliteWriterDeps;
  readonly #sql: ReturnType<typeof prepareStatements>;
  #rev: Rev;
  #compactRev: Rev;
  #failure: StoreError | undefined;
  /** Size of the file when it last took in the log; 0 before that. */
  #filePages = 0;

  constructor(deps: SqliteWriterDeps) {
    this.#deps = deps;
    this.#sql = prepareStatements(deps.db);
    this.#rev = deps.meta.rev;
    this.#compactRev = deps.meta.compactRev;
  }

  get rev(): Rev {
    return this.#rev;
  }

  get compactRev(): Rev {
    return this.#compactRev;
  }

  /** Applies each transaction or none: if the commit fails, nothing has changed. */
  write(txns: readonly WireTxn[]): TxnOutcome[] {
    return this.#commit(() => {
      const before = this.#rev;
      const outcomes = txns.map((txn) => this.#apply(txn));
      if (this.#rev !== before) this.#compactBeside(outcomes);
      return outcomes;
    });
  }

  grantLease(id: string, ttlSeconds: number): void {
    this.#commit(() => this.#sql.grantLease.run(id, ttlSeconds));
  }

  dropLease(id: string): { rev: Rev; deleted: string[] } {
    return this.#commit(() => {
      const deleted = this.#deleteAll(this.#sql.leasedKeys.all(id));
      this.#sql.dropLease.run(id);
      return { rev: this.#rev, deleted };
    });
  }

  /** Call at start: the file is locked exclusively, so every earlier lease holder is dead. */
  dropAllLeases(): void {
    const leased = this.#sql.allLeasedKeys.all();
    if (leased.length === 0 && this.#sql.anyLease.get() === undefined) return;
    this.#commit(() => {
      this.#deleteAll(leased);
      this.#sql.dropAllLeases.run();
    });
  }

  compact(keepFrom: Rev): void {
    if (keepFrom > this.#rev) throw storeErrors.futureCompaction(keepFrom, this.#rev);
    if (keepFrom <= this.#compactRev) return;
    this.#commit(() => {
      this.#compactRev = keepFrom;
      this.#deps.history.removeStep(keepFrom);
    });
  }

  /** Automatic compaction between writes; true if more remains. */
  tidyStep(): boolean {
    const { history } = this.#deps;
    this.#commit(() => {
      this.#compactRev = history.keepFrom(this.#rev, this.#compactRev);
      history.removeStep(this.#compactRev);
    });
    return history.hasLeftovers || history.shrinkStep();
  }

  #compactBeside(outcomes: readonly TxnOutcome[]): void {
    const { history } = this.#deps;
    const keepFrom = history.keepFrom(this.#rev, this.#compactRev);
    if (keepFrom > this.#compactRev) history.noteCompaction();
    this.#compactRev = keepFrom;
    if (!history.hasLeftovers) return;
    const ops = outcomes.reduce((sum, outcome) => sum + ('effects' in outcome ? outcome.effects.length : 0), 0);
    history.removeStep(keepFrom, ops * removedPerOp);
  }

  #apply({ ifAll, ops }: WireTxn): TxnOutcome {
    for (const { key, modRev } of ifAll) {
      if (Number(this.#sql.state.get(Buffer.from(key))?.['mod_rev'] ?? 0) !== modRev) {
        return { ok: false, rev: this.#rev, effects: [] };
      }
    }
    for (const op of ops) {
      if ('put' in op && op.lease !== undefined && this.#sql.lease.get(op.lease) === undefined) {
        return { noLease: op.lease };
      }
    }
    const rev = this.#rev + 1;
    const effects = ops.map((op) => this.#applyOp(op, rev));
    if (effects.every((effect) => effect === 'none')) return { ok: true, rev: this.#rev, effects: [] };
    this.#rev = rev;
    return { ok: true, rev, effects };
  }

  #applyOp(op: Op, modRev: Rev): Effect {
    if ('del' in op) return this.#delete(Buffer.from(op.del), modRev) ? 'deleted' : 'none';
    const key = Buffer.from(op.put);
    const old = this.#sql.state.get(key);
    const createRev = old === undefined ? modRev : Number(old['create_rev']);
    const version = Number(old?.['version'] ?? 0) + 1;
    const sum = recordSum(key, op.value, { createRev, modRev, version });
    this.#sql.put.run(key, op.value, createRev, modRev, version, op.lease ?? null, sum);
    this.#sql.event.run(modRev, key, op.value, createRev, version, sum);
    return { createRev, version };
  }

  #deleteAll(rows: readonly Record<string, unknown>[]): string[] {
    const keys = rows.map((row) => row['key']).filter((key) => key instanceof Uint8Array);
    if (keys.length === 0) return [];
    const rev = this.#rev + 1;
    for (const key of keys) this.#delete(key, rev);
    this.#rev = rev;
    return keys.map((key) => Buffer.from(key).toString());
  }

  #delete(key: Uint8Array, modRev: Rev): boolean {
    if (Number(this.#sql.delete.run(key).changes) === 0) return false;
    this.#sql.event.run(modRev, key, null, 0, 0, recordSum(key, noValue, { createRev: 0, modRev, version: 0 }));
    return true;
  }

  /**
   * The file takes in the log before the disk is full: later it could not grow, and the log could not be emptied for deletions. A failure
   * changes nothing, since the log still has everything.
   */
  #growFile(): void {
    try {
      const pages = Number(this.#sql.pages.get()?.['page_count'] ?? 0);
      // A vacuum has made it shorter.
      this.#filePages = Math.min(this.#filePages, pages);
      const missing = pages - this.#filePages;
      if (missing === 0 || (missing <= maxPagesToGrow && !isScarce(this.#deps.path))) return;
      this.#sql.checkpoint.get();
      this.#filePages = pages;
    } catch {
      // The next commit tries again.
    }
  }

  /** On a full disk the log may hold all the space left: it is checkpointed and emptied once, so that deletions succeed. */
  #commit<T>(work: () => T): T {
    if (this.#failure) throw this.#failure;
    try {
      return this.#tryCommit(work);
    } catch (error) {
      if (this.#failure !== undefined || !isFullDisk(error) || !this.#emptyLog())
        throw sqliteError(error, this.#deps.path);
    }
    try {
      return this.#tryCommit(work);
    } catch (error) {
      throw sqliteError(error, this.#deps.path);
    }
  }

  /** False if that itself needs space. */
  #emptyLog(): boolean {
    try {
      const [outcome] = this.#deps.db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
      return outcome?.['busy'] === 0;
    } catch {
      return false;
    }
  }

  #tryCommit<T>(work: () => T): T {
    const { db } = this.#deps;
    const before = { rev: this.#rev, compactRev: this.#compactRev };
    try {
      db.exec('BEGIN');
      const result = work();
      if (this.#rev !== before.rev || this.#compactRev !== before.compactRev) {
        this.#sql.meta.run(this.#rev, this.#compactRev);
      }
      db.exec('COMMIT');
      this.#growFile();
      return result;
    } catch (error) {
      this.#rev = before.rev;
      this.#compactRev = before.compactRev;
      this.#rollBack(error);
      throw error;
    }
  }

  #rollBack(error: unknown): void {
    const { db, path } = this.#deps;
    if (db.isTransaction) db.exec('ROLLBACK');
    // After a failed sync the kernel may have dropped pages that it reports as clean: only a restart re-reads the disk.
    if (isIoError(error)) {
      const message = `writing ${path} failed earlier; the daemon must be restarted`;
      this.#failure = new StoreError('Unavailable', message, { cause: error });
    }
  }
}

function isScarce(path: string): boolean {
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize < scarceBytes;
}

function prepareStatements(db: SqliteConnection): Record<StatementName, Statement> {
  const prepared = Object.entries(statements).map(([name, sql]) => [name, db.prepare(sql)]);
  return Object.fromEntries(prepared) as Record<StatementName, Statement>;
}

type StatementName = keyof typeof statements;

// The SQLite of Node 22 treats an empty value from another thread as NULL, which only a deletion has.
const statements = {
  state: 'SELECT create_rev, mod_rev, version FROM kv WHERE key = ?',
  put: `INSERT INTO kv (key, value, create_rev, mod_rev, version, lease, sum) VALUES (?, ifnull(?, x''), ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, create_rev = excluded.create_rev, mod_rev = excluded.mod_rev,
      version = excluded.version, lease = excluded.lease, sum = excluded.sum`,
  delete: 'DELETE FROM kv WHERE key = ?',
  event: `INSERT INTO ev (rev, key, value, create_rev, version, sum) VALUES (?1, ?2, iif(?5 > 0, ifnull(?3, x''), NULL), ?4, ?5, ?6)`,
  pages: 'PRAGMA page_count',
  checkpoint: 'PRAGMA wal_checkpoint(PASSIVE)',
  meta: 'UPDATE meta SET rev = ?, compact_rev = ?',
  lease: 'SELECT 1 FROM lease WHERE id = ?',
  anyLease: 'SELECT 1 FROM lease LIMIT 1',
  grantLease: 'INSERT INTO lease (id, ttl_seconds) VALUES (?, ?)',
  dropLease: 'DELETE FROM lease WHERE id = ?',
  dropAllLeases: 'DELETE FROM lease',
  leasedKeys: 'SELECT key FROM kv WHERE lease = ? ORDER BY key',
  allLeasedKeys: 'SELECT key FROM kv WHERE lease IS NOT NULL ORDER BY key',
};
