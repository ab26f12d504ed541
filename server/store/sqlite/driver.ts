// The SQLite binding: picks the driver, opens one exclusive connection with durable settings, translates its errors.
import { chmodSync, closeSync, openSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreError } from '../store.ts';

export type SqlValue = Uint8Array | string | number | null;
export type SqlRow = Record<string, SqlValue>;

export interface Statement {
  run(...values: SqlValue[]): { changes: number | bigint };
  get(...values: SqlValue[]): SqlRow | undefined;
  all(...values: SqlValue[]): SqlRow[];
}

export interface SqliteConnection {
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

export interface Driver {
  readonly DatabaseSync: new (path: string, options: { timeout?: number; readOnly?: boolean }) => SqliteConnection;
}

/** Older releases can corrupt a WAL when it is reset. */
const oldestSqlite = '3.51.3';

/** The SQLite built into Node if it is new enough, otherwise the add-on with the same interface, which the package contains for a few
 *  processors. */
export async function loadDriver(): Promise<Driver> {
  const builtIn: string = 'node:sqlite';
  if (isAtLeast(process.versions['sqlite'], oldestSqlite)) return (await import(builtIn)) as Driver;
  try {
    return await import('@photostructure/sqlite');
  } catch (cause) {
    const here = `${process.platform} on ${process.arch}`;
    throw new StoreError(
      'Unavailable',
      `there is no SQLite for ${here} in this package, and that of Node.js ${process.versions.node} is older than ${oldestSqlite}: use a newer Node.js (node -p process.versions.sqlite shows the version)`,
      { cause },
    );
  }
}

function isAtLeast(version: string | undefined, wanted: string): boolean {
  if (version === undefined) return false;
  return version.localeCompare(wanted, 'en', { numeric: true }) >= 0;
}

export function openConnection(driver: Driver, path: string, lockTimeoutMs: number): SqliteConnection {
  try {
    refuseNetworkFileSystem(path);
    makePrivateFile(path);
    const db = new driver.DatabaseSync(path, { timeout: lockTimeoutMs });
    try {
      configure(db);
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  } catch (error) {
    throw sqliteError(error, path);
  }
}

function configure(db: SqliteConnection): void {
  // EXCLUSIVE must come before the first access: then the lock is never released, and there is no shared-memory file, which would need
  // space on a disk that may be full. Only a new file accepts auto_vacuum; on an old one the attempt would cause a write.
  db.exec('PRAGMA locking_mode = EXCLUSIVE');
  if (Number(db.prepare('PRAGMA page_count').get()?.['page_count'] ?? 0) === 0)
    db.exec('PRAGMA auto_vacuum = INCREMENTAL');
  expectPragma(db, 'journal_mode', 'wal');
  expectPragma(db, 'synchronous', 2);
  db.exec('PRAGMA cache_size = -512; PRAGMA journal_size_limit = 8388608; PRAGMA trusted_schema = OFF');
  // Deleted or replaced data may be a secret: overwrites its bytes, also in freed pages.
  db.exec('PRAGMA secure_delete = ON');
  db.exec('BEGIN EXCLUSIVE; COMMIT');
}

/** Durability depends on these two: a build that ignores them must not run. */
function expectPragma(db: SqliteConnection, name: string, wanted: string | number): void {
  db.exec(`PRAGMA ${name} = ${wanted}`);
  const found = db.prepare(`PRAGMA ${name}`).get()?.[name];
  if (found !== wanted)
    throw new StoreError('Invalid', `SQLite answers ${name} = ${String(found)}, needed is ${wanted}`);
}

/** The store holds password hashes and keys; SQLite gives its side files the mode of the main file. */
function makePrivateFile(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}

const networkFileSystems = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB2'],
  [0xff534d42, 'CIFS'],
  [0x00c36400, 'Ceph'],
]);

function refuseNetworkFileSystem(path: string): void {
  const { type } = statfsSync(dirname(path));
  const name = networkFileSystems.get(type);
  if (name !== undefined) {
    throw new StoreError('Invalid', `${path} is on ${name}: the store file must be on a local file system`);
  }
}

const primaryCodes = { busy: 5, locked: 6, ioError: 10, corrupt: 11, full: 13, notADatabase: 26 };

/** The add-on has no code for an unreadable row within a result, only SQLite's fixed text. */
const codesByText = new Map([
  ['database is locked', primaryCodes.busy],
  ['disk I/O error', primaryCodes.ioError],
  ['database disk image is malformed', primaryCodes.corrupt],
  ['database or disk is full', primaryCodes.full],
  ['file is not a database', primaryCodes.notADatabase],
]);

export function isIoError(error: unknown): boolean {
  return primaryCode(error) === primaryCodes.ioError;
}

export const isFullDisk = (error: unknown): boolean => primaryCode(error) === primaryCodes.full;

/** Translates a driver's error; `Unknown` is only for errors during which a write may have become durable. */
export function sqliteError(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  switch (primaryCode(error) ?? 0) {
    case primaryCodes.busy:
    case primaryCodes.locked:
      return new StoreError('Locked', `${path} is in use: another process has this store open`, { cause: error });
    case primaryCodes.full:
      return new StoreError('NoSpace', `no space left for ${path}`, { cause: error });
    case primaryCodes.corrupt:
    case primaryCodes.notADatabase:
      return new StoreError('Corrupt', `${path} is damaged`, { cause: error });
    case primaryCodes.ioError:
      return new StoreError('Unknown', `reading or writing ${path} failed`, { cause: error });
    default:
      return new StoreError('Unavailable', `the store file ${path} cannot be used`, { cause: error });
  }
}

function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && error.code === 'ENOSPC') return primaryCodes.full;
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode & 0xff;
  return codesByText.get(error.message);
}
