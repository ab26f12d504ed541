// The open SQLite store inside the worker: one handler a kind of call. Knows nothing of threads.
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import {
  openConnection,
  sqliteError,
  type SqliteConnection,
  type Driver,
  type SqlRow,
  type SqlValue,
  type Statement,
} from './driver.ts';
import { SqliteHistory } from './history.ts';
import { packRecords } from './packing.ts';
import type { Calls, OpenRequest, StatusReply } from './protocol.ts';
import {
  checkStructure,
  cleanFormat,
  prepareSchema,
  readEvent,
  readRecord,
  recordColumns,
  type Meta,
} from './schema.ts';
import { SqliteWriter } from './writer.ts';
import { storeErrors } from '../store-errors.ts';
import { StoreError, type Rev, type StoreEvent, type StoreRecord } from '../store.ts';
import type { WatchBatch } from '../watch-hub.ts';

type Handlers = { readonly [K in keyof Calls]: (request: Calls[K]['request']) => Calls[K]['reply'] };

export interface Engine extends Omit<Handlers, 'open'> {
  /** Compacts, and returns free space, between writes; true if more remains. */
  readonly tidyStep: () => boolean;
  /** Call after tidying: replaced or deleted data is in no file any more. */
  readonly forget: () => void;
}

/** Number of revisions in a page of history; bounds the memory of a watcher that starts far back. */
const historyPageRevs = 32;
const snapshotPageRecords = 200;

export function openEngine(driver: Driver, { path, lockTimeoutMs, history: limits }: OpenRequest): Engine {
  const db = openConnection(driver, path, lockTimeoutMs);
  try {
    removeStaleSnapshots(path);
    const meta = prepareSchema(db, path);
    checkStructure(db, path);
    const history = new SqliteHistory(db, limits);
    const writer = new SqliteWriter({ db, path, meta, history });
    writer.dropAllLeases();
    return makeEngine({ db, driver, path, meta, reader: new SqliteReader(db), writer });
  } catch (error) {
    db.close();
    throw sqliteError(error, path);
  }
}

interface EngineParts {
  readonly db: SqliteConnection;
  readonly driver: Driver;
  readonly path: string;
  readonly meta: Meta;
  readonly reader: SqliteReader;
  readonly writer: SqliteWriter;
}

function makeEngine(parts: EngineParts): Engine {
  const { db, reader, writer } = parts;
  return {
    get: ({ key }) => reader.get(key),
    range: ({ prefix, limit, after }) => ({ rev: writer.rev, packed: packRecords(reader.range(prefix, limit, after)) }),
    write: ({ txns }) => ({ outcomes: writer.write(txns), compactRev: writer.compactRev }),
    history: ({ prefix, fromRev }) => {
      if (fromRev < writer.compactRev) throw storeErrors.compacted(fromRev, writer.compactRev);
      const through = Math.min(fromRev + historyPageRevs - 1, writer.rev);
      return { batches: reader.history(prefix, fromRev, through), through };
    },
    compact: ({ keepFrom }) => {
      writer.compact(keepFrom);
      return { compactRev: writer.compactRev };
    },
    grantLease: ({ id, ttlSeconds }) => {
      writer.grantLease(id, ttlSeconds);
      return undefined;
    },
    dropLease: ({ id }) => writer.dropLease(id),
    status: () => readStatus(parts),
    ...snapshotHandlers(parts),
    close: () => {
      db.close();
      return undefined;
    },
    tidyStep: () => writer.tidyStep(),
    forget: () => forget(db),
  };
}

/** The log keeps earlier versions of pages until it is truncated. */
function forget(db: SqliteConnection): void {
  if (Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0) < cleanFormat)
    db.exec(`VACUUM; PRAGMA user_version = ${cleanFormat}`);
  db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
}

function readStatus({ db, path, meta, writer }: EngineParts): StatusReply {
  const records = Number(db.prepare('SELECT count(*) AS n FROM kv').get()?.['n'] ?? 0);
  const sizeBytes = [path, `${path}-wal`].reduce(
    (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
  return { rev: writer.rev, compactRev: writer.compactRev, records, sizeBytes, storeUuid: meta.storeUuid };
}

/** A dump reads a copy, so that it shows one revision while writes continue; the copy is unlinked once it is open. */
function snapshotHandlers(parts: EngineParts): Pick<Engine, 'openSnapshot' | 'readSnapshot' | 'closeSnapshot'> {
  const { db, driver, path, meta, writer } = parts;
  const open = new Map<number, { db: SqliteConnection; reader: SqliteReader }>();
  let lastId = 0;
  return {
    openSnapshot: () => {
      const copyPath = `${snapshotStem(path)}${randomUUID()}`;
      try {
        closeSync(openSync(copyPath, 'wx', 0o600));
        db.prepare('VACUUM INTO ?').run(copyPath);
        const copy = new driver.DatabaseSync(copyPath, { readOnly: true });
        lastId += 1;
        open.set(lastId, { db: copy, reader: new SqliteReader(copy) });
        return { id: lastId, rev: writer.rev, storeUuid: meta.storeUuid };
      } finally {
        rmSync(copyPath, { force: true });
      }
    },
    readSnapshot: ({ id, after }) => {
      const snapshot = open.get(id);
      if (snapshot === undefined) throw new StoreError('Invalid', `there is no open snapshot ${id}`);
      return { packed: packRecords(snapshot.reader.lasting(after, snapshotPageRecords)) };
    },
    closeSnapshot: ({ id }) => {
      open.get(id)?.db.close();
      open.delete(id);
      return undefined;
    },
  };
}

function snapshotStem(path: string): string {
  return `${path}.snapshot-`;
}

function removeStaleSnapshots(path: string): void {
  const stem = basename(snapshotStem(path));
  for (const name of readdirSync(dirname(path))) {
    if (name.startsWith(stem)) rmSync(join(dirname(path), name), { force: true });
  }
}

/** Reads from the SQLite file, in the worker: single records, ranges, pages of history. Every row's checksum is verified. */
class SqliteReader {
  readonly #db: SqliteConnection;
  readonly #get: Statement;
  readonly #statements = new Map<string, Statement>();

  constructor(db: SqliteConnection) {
    this.#db = db;
    this.#get = db.prepare(`SELECT ${recordColumns} FROM kv WHERE key = ?`);
  }

  get(key: string): StoreRecord | undefined {
    const row = this.#get.get(Buffer.from(key));
    return row && readRecord(row);
  }

  range(prefix: string, limit: number | undefined, after: string | undefined): StoreRecord[] {
    return this.#rowsUnder(`SELECT ${recordColumns} FROM kv WHERE true`, prefix, after, limit).map(readRecord);
  }

  /** A page for a dump: records without a lease. */
  lasting(after: string | undefined, limit: number): StoreRecord[] {
    return this.#rowsUnder(`SELECT ${recordColumns} FROM kv WHERE lease IS NULL`, '', after, limit).map(readRecord);
  }

  history(prefix: string, fromRev: Rev, through: Rev): WatchBatch[] {
    const under = keysUnder(prefix);
    const rows = this.#prepared(
      `SELECT rev, key, value, create_rev, version, sum FROM ev WHERE rev BETWEEN ? AND ?${under.sql} ORDER BY rev, rowid`,
    ).all(fromRev, through, ...under.values);
    return batchByRev(rows.map(readEvent));
  }

  #rowsUnder(select: string, prefix: string, after: string | undefined, limit: number | undefined): SqlRow[] {
    const under = keysUnder(prefix);
    const values = [...under.values];
    let sql = select + under.sql;
    if (after !== undefined) {
      sql += ' AND key > ?';
      values.push(Buffer.from(after));
    }
    return this.#prepared(`${sql} ORDER BY key LIMIT ?`).all(...values, limit ?? -1);
  }

  #prepared(sql: string): Statement {
    const known = this.#statements.get(sql) ?? this.#db.prepare(sql);
    this.#statements.set(sql, known);
    return known;
  }
}

/** UTF-8 has no byte 0xff, so the last byte of a prefix can always be raised by one to give its end. */
function keysUnder(prefix: string): { sql: string; values: SqlValue[] } {
  if (prefix === '') return { sql: '', values: [] };
  const first = Buffer.from(prefix);
  const end = Buffer.from(first);
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return { sql: ' AND key >= ? AND key < ?', values: [first, end] };
}

function batchByRev(events: readonly StoreEvent[]): WatchBatch[] {
  const batches: { rev: Rev; events: StoreEvent[] }[] = [];
  for (const event of events) {
    const rev = event.type === 'put' ? event.record.modRev : event.modRev;
    const last = batches.at(-1);
    if (last?.rev === rev) last.events.push(event);
    else batches.push({ rev, events: [event] });
  }
  return batches;
}
