// Reads from the SQLite file, in the worker: single records, ranges, pages of history. Every row's checksum is verified.
import type { SqliteConnection, SqlRow, SqlValue, Statement } from './driver.ts';
import { readEvent, readRecord, recordColumns } from './schema.ts';
import type { Rev, StoreEvent, StoreRecord } from '../store.ts';
import type { WatchBatch } from '../watch-hub.ts';

export class SqliteReader {
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
