// Tables of the SQLite store, and how rows become records; every row of data carries a checksum.
import { randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { SqliteConnection, SqlRow } from './driver.ts';
import { storeErrors } from '../store-errors.ts';
import { type Rev, StoreError, type StoreEvent, type StoreRecord } from '../store.ts';

/** Written into meta; a file of another schema is refused. */
const schemaVersion = 1;

/** user_version of files in which deleted bytes were always overwritten; older files are rewritten once. */
export const cleanFormat = 1;

// Current state and history are in separate tables, so that removing history leaves records untouched.
const tables = `
  CREATE TABLE meta (rev INTEGER NOT NULL, compact_rev INTEGER NOT NULL, schema INTEGER NOT NULL, store_uuid TEXT NOT NULL);
  CREATE TABLE kv (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL, create_rev INTEGER NOT NULL, mod_rev INTEGER NOT NULL,
    version INTEGER NOT NULL, lease TEXT, sum INTEGER NOT NULL);
  CREATE INDEX kv_lease ON kv (lease) WHERE lease IS NOT NULL;
  CREATE TABLE ev (rev INTEGER NOT NULL, key BLOB NOT NULL, value BLOB, create_rev INTEGER NOT NULL, version INTEGER NOT NULL,
    sum INTEGER NOT NULL);
  CREATE INDEX ev_rev ON ev (rev);
  CREATE TABLE lease (id TEXT PRIMARY KEY NOT NULL, ttl_seconds REAL NOT NULL);
`;

export interface Meta {
  readonly rev: Rev;
  readonly compactRev: Rev;
  readonly storeUuid: string;
}

export function prepareSchema(db: SqliteConnection, path: string): Meta {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get() === undefined) createSchema(db);
  const row = db.prepare('SELECT * FROM meta').get();
  if (row === undefined) throw new StoreError('Corrupt', `${path} has lost its meta row`);
  if (Number(row['schema']) !== schemaVersion) {
    throw new StoreError('Invalid', `${path} has schema ${String(row['schema'])}, this program knows ${schemaVersion}`);
  }
  return { rev: Number(row['rev']), compactRev: Number(row['compact_rev']), storeUuid: String(row['store_uuid']) };
}

function createSchema(db: SqliteConnection): void {
  db.exec(
    `BEGIN; ${tables}; INSERT INTO meta VALUES (0, 0, ${schemaVersion}, '${randomUUID()}'); PRAGMA user_version = ${cleanFormat}; COMMIT`,
  );
}

/** Finds damage in the structure (a key hidden by a broken index); checksums find damage in data at each read. */
export function checkStructure(db: SqliteConnection, path: string): void {
  const finding = db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check'];
  if (finding !== 'ok') throw new StoreError('Corrupt', `${path} is damaged: ${String(finding)}`);
}

export interface RecordState {
  readonly createRev: Rev;
  readonly modRev: Rev;
  readonly version: number;
}

/** Covers every field that a reader gets, so that any flipped bit is detected. */
export function recordSum(key: Uint8Array, value: Uint8Array, state: RecordState): number {
  return crc32(value, crc32(key, crc32(`${state.createRev} ${state.modRev} ${state.version}`)));
}

/** The columns readRecord needs. */
export const recordColumns = 'key, value, create_rev, mod_rev, version, sum';

export function readRecord(row: SqlRow): StoreRecord {
  const key = bytesOf(row['key']);
  const value = bytesOf(row['value']);
  const state = {
    createRev: Number(row['create_rev']),
    modRev: Number(row['mod_rev']),
    version: Number(row['version']),
  };
  const text = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString();
  if (recordSum(key, value, state) !== row['sum']) throw storeErrors.corruptRecord(text);
  return { key: text, value, ...state };
}

/** A row of ev; a deletion has no value and version 0. */
export function readEvent(row: SqlRow): StoreEvent {
  const modRev = Number(row['rev']);
  const record = readRecord({ ...row, value: row['value'] ?? noValue, mod_rev: modRev });
  return row['value'] === null ? { type: 'del', key: record.key, modRev } : { type: 'put', record };
}

export const noValue = new Uint8Array();

function bytesOf(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : noValue;
}
