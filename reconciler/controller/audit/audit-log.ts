// The audit log: one line per request to change something, on disk before the change begins. It only grows; long files are
// rotated. audit-chain.ts chains the lines.
import { randomBytes } from 'node:crypto';
import { open, rename, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { syncDirectory } from '../../../server/lib/durable-files.ts';
import { hasCode } from '../../../server/lib/shared/error-code.ts';
import { makeFolder } from '../../../server/lib/shared/make-folder.ts';
import type { AuditCheck, AuditEntry } from '../contract/index.ts';
import { ChainCheck, chained, emptyChain, entryOf, type Link } from './audit-chain.ts';
import { auditFiles, lastLink, linesOf, rotatedPath } from './audit-files.ts';

export interface AuditQuery {
  readonly set?: string;
  readonly since?: string;
  /** The number of the last entry that the caller has. */
  readonly after?: number;
  readonly limit?: number;
}

type NewEntry = Omit<AuditEntry, 'id' | 'number' | 'at'> & { readonly id?: string };

interface OpenFile {
  readonly handle: FileHandle;
  readonly ino: number;
  /** The expected size of the file. */
  size: number;
  last: Link;
  /** The number of its first entry. */
  first: number;
}

const longestFile = 16 * 1024 * 1024;

export class AuditLog {
  readonly #file: string;
  readonly #nowMs: () => number;
  readonly #longest: number;
  #open: OpenFile | undefined;
  #working: Promise<unknown> = Promise.resolve();

  /** `longest`: max bytes of a file before rotation. */
  constructor(file: string, nowMs: () => number, longest = longestFile) {
    this.#file = file;
    this.#nowMs = nowMs;
    this.#longest = longest;
  }

  /** Resolves with the id when the entry is on disk. If it rejects, the caller must not make the change. */
  async add({ id = randomBytes(8).toString('hex'), ...entry }: NewEntry): Promise<string> {
    const written = { at: new Date(this.#nowMs()).toISOString(), id, ...entry };
    await this.#inTurn(() => this.#append(written));
    return id;
  }

  /** Oldest first; without `after` the newest ones. */
  async list({ set, since, after, limit = 1000 }: AuditQuery): Promise<readonly AuditEntry[]> {
    await this.#working.catch(() => undefined);
    const isMeant = (one: AuditEntry): boolean =>
      (set === undefined || one.set === set) &&
      (since === undefined || Date.parse(one.at) > Date.parse(since)) &&
      (after === undefined || one.number > after);
    const files = await auditFiles(this.#file);
    return after === undefined ? newest(files, isMeant, limit) : from(files, isMeant, after, limit);
  }

  /** Follows the chain through all files. */
  async verify(): Promise<AuditCheck> {
    await this.#working.catch(() => undefined);
    const check = new ChainCheck();
    for (const { path } of await auditFiles(this.#file)) {
      let place = 0;
      for await (const line of linesOf(path)) check.line(line, (place += 1), basename(path));
    }
    return check.result;
  }

  async close(): Promise<void> {
    await this.#working.catch(() => undefined);
    await this.#forget();
  }

  async #append(entry: Omit<AuditEntry, 'number'>): Promise<void> {
    try {
      const file = await this.#ready();
      const { line, link } = chained(entry, file.last);
      await file.handle.appendFile(line);
      await file.handle.datasync();
      file.size += Buffer.byteLength(line);
      file.last = link;
    } catch (error) {
      // A part of the line may be on disk: the next write checks the end of the file first.
      await this.#forget();
      throw error;
    }
  }

  async #ready(): Promise<OpenFile> {
    const there = await stat(this.#file).catch(() => undefined);
    // Another controller that shares the state directory wrote to the file or rotated it.
    if (there?.ino !== this.#open?.ino || there?.size !== this.#open?.size) await this.#forget();
    this.#open ??= await this.#opened();
    if (this.#open.size < this.#longest) return this.#open;
    const rotated = rotatedPath(this.#file, this.#open.first);
    if (!(await isReserved(rotated))) return this.#open;
    await this.#forget();
    await rename(this.#file, rotated);
    return (this.#open = await this.#opened());
  }

  async #opened(): Promise<OpenFile> {
    await makeFolder(dirname(this.#file), 0o700);
    const last = await lastLink(this.#file);
    const handle = await open(this.#file, 'a+', 0o600);
    try {
      const { size, ino } = await handle.stat();
      // A power cut could take the name of a new file.
      if (size === 0) await syncDirectory(dirname(this.#file));
      await endLine(handle, size);
      const first = size === 0 ? last.number + 1 : await firstOf(this.#file);
      return { handle, ino, size: (await handle.stat()).size, last, first };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async #forget(): Promise<void> {
    const { handle } = this.#open ?? {};
    this.#open = undefined;
    await handle?.close().catch(() => undefined);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#working.catch(() => undefined).then(work);
    this.#working = next;
    return next;
  }
}

type Files = Awaited<ReturnType<typeof auditFiles>>;
type EntryFilter = (entry: AuditEntry) => boolean;

async function newest(files: Files, isMeant: EntryFilter, limit: number): Promise<readonly AuditEntry[]> {
  let found: AuditEntry[] = [];
  for (const { path } of files.toReversed()) {
    const here: AuditEntry[] = [];
    let place = 0;
    for await (const line of linesOf(path)) {
      const entry = entryOf(line, (place += 1));
      if (entry !== undefined && isMeant(entry)) here.push(entry);
      if (here.length > 2 * limit) here.splice(0, here.length - limit);
    }
    found = [...here, ...found].slice(-limit);
    if (found.length === limit) break;
  }
  return found;
}

async function from(files: Files, isMeant: EntryFilter, after: number, limit: number): Promise<readonly AuditEntry[]> {
  const found: AuditEntry[] = [];
  for (const [at, { path }] of files.entries()) {
    const next = files[at + 1];
    // The caller has all entries of this file.
    if (next !== undefined && next.first <= after + 1) continue;
    let place = 0;
    for await (const line of linesOf(path)) {
      const entry = entryOf(line, (place += 1));
      if (entry !== undefined && isMeant(entry)) found.push(entry);
      if (found.length === limit) return found;
    }
  }
  return found;
}

/** Creates the new name of a file. False if another controller has: a second rename would put the next file in the place of this one. */
async function isReserved(rotated: string): Promise<boolean> {
  try {
    await (await open(rotated, 'wx', 0o600)).close();
    return true;
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    // The end of a process left it empty.
    const { size, mtimeMs } = await stat(rotated);
    return size === 0 && Date.now() - mtimeMs > 60_000;
  }
}

/** Ends a line that a kill or a full disk truncated, so that the next entry begins a new line. */
async function endLine(handle: FileHandle, size: number): Promise<void> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
  if (size > 0 && buffer.toString() !== '\n') await handle.appendFile('\n');
}

async function firstOf(file: string): Promise<number> {
  let place = 0;
  for await (const line of linesOf(file)) {
    const entry = entryOf(line, (place += 1));
    if (entry !== undefined) return entry.number;
  }
  return emptyChain.number + 1;
}
