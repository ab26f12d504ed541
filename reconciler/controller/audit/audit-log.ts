// The audit log: a line for each thing that a person or program asked of the controller, on the disk before it is done. It only grows.
import { randomBytes } from 'node:crypto';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { AuditEntry } from '../contract/index.ts';
import { readIfThere } from '../../../server/lib/shared/missing-files.ts';

export interface AuditQuery {
  readonly set?: string;
  readonly since?: string;
  /** The number of the last entry that is known. */
  readonly after?: number;
  readonly limit?: number;
}

type NewEntry = Omit<AuditEntry, 'id' | 'number' | 'at'> & { readonly id?: string };

export class AuditLog {
  readonly #file: string;
  readonly #nowMs: () => number;
  #handle: Promise<FileHandle> | undefined;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(file: string, nowMs: () => number) {
    this.#file = file;
    this.#nowMs = nowMs;
  }

  /** Resolves with the id when the entry is on the disk. Rejects when it cannot be written: then nothing may be done. */
  async add({ id = randomBytes(8).toString('hex'), ...entry }: NewEntry): Promise<string> {
    const line = `${JSON.stringify({ at: new Date(this.#nowMs()).toISOString(), id, ...entry })}\n`;
    const next = this.#writing.catch(() => undefined).then(() => this.#append(line));
    this.#writing = next;
    await next;
    return id;
  }

  /** Oldest first; without `after` the newest ones. */
  async list({ set, since, after, limit = 1000 }: AuditQuery): Promise<readonly AuditEntry[]> {
    await this.#writing.catch(() => undefined);
    const text = (await readIfThere(this.#file)) ?? '';
    const found = text
      .split('\n')
      .flatMap((line, at) => entryOf(line, at + 1))
      .filter(
        (one) =>
          (set === undefined || one.set === set) &&
          (since === undefined || Date.parse(one.at) > Date.parse(since)) &&
          (after === undefined || one.number > after),
      );
    return after === undefined ? found.slice(-limit) : found.slice(0, limit);
  }

  async close(): Promise<void> {
    await this.#writing.catch(() => undefined);
    await (await this.#handle?.catch(() => undefined))?.close();
    this.#handle = undefined;
  }

  async #append(line: string): Promise<void> {
    this.#handle ??= this.#open().catch((error: unknown) => {
      this.#handle = undefined;
      throw error;
    });
    const file = await this.#handle;
    await file.appendFile(line);
    await file.datasync();
  }

  async #open(): Promise<FileHandle> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    const file = await open(this.#file, 'a+', 0o600);
    const { size } = await file.stat();
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
    // The end of a process cut the last line off: what follows is a line of its own.
    if (size > 0 && buffer.toString() !== '\n') await file.appendFile('\n');
    return file;
  }
}

/** None for a line that was cut off. */
function entryOf(line: string, number: number): readonly AuditEntry[] {
  if (line === '') return [];
  try {
    return [{ ...(JSON.parse(line) as Omit<AuditEntry, 'number'>), number }];
  } catch {
    return [];
  }
}
