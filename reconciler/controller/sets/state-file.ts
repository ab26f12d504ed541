// Files of the controller's state: JSON that is replaced as a whole, and logs of records that are appended and kept short.
import { appendFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createWhole, replaceWhole } from '../../../server/lib/durable-files.ts';
import type { Json } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import { makeFolder } from '../../../server/lib/shared/make-folder.ts';
import { readIfThere } from '../../../server/lib/shared/missing-files.ts';

/** Undefined when there is no file. Throws when it is damaged or no object, since a guess could change hosts. */
export async function readState(file: string, isValid: (value: Json) => boolean = isMap): Promise<unknown> {
  const text = await readIfThere(file);
  if (text === undefined) return undefined;
  const damaged = (cause?: unknown): Error =>
    new Error(`${file} is damaged: restore it, or delete it to begin again`, { cause });
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw damaged(error);
  }
  if (!isValid(value)) throw damaged();
  return value;
}

/** Creates the file whole. False if it exists, also because another process was first. */
export async function createOnce(file: string, text: string): Promise<boolean> {
  await makeFolder(dirname(file), 0o700);
  return createWhole(file, text, { mode: 0o600 });
}

/** `state` without a change of `before` that could not be stored; later changes stay. */
export function undone<T extends object>(state: T, before: T, part: Partial<T>): T {
  const keys = (Object.keys(part) as (keyof T)[]).filter((key) => state[key] === part[key]);
  return { ...state, ...Object.fromEntries(keys.map((key) => [key, before[key]])) };
}

/** Writes one value after the other; the newest one wins. */
export class StateFile {
  readonly #file: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(file: string) {
    this.#file = file;
  }

  async write(value: unknown): Promise<void> {
    const text = `${JSON.stringify(value)}\n`;
    const before = this.#writing;
    const next = this.#replace(before, text);
    this.#writing = next;
    await next;
  }

  /** Resolves when all writes have ended, also when one failed. */
  async flush(): Promise<void> {
    await this.#writing.catch(() => undefined);
  }

  async #replace(before: Promise<void>, text: string): Promise<void> {
    await before.catch(() => undefined);
    await makeFolder(dirname(this.#file), 0o700);
    await replaceWhole(this.#file, text, { isPrivate: true });
  }
}

interface RecordLine {
  readonly id: string;
}

interface Removed extends RecordLine {
  readonly isGone: true;
}

/** The newest records by id, in memory and in a file of JSON lines; a record that changed is appended again. May be loaded again. */
export class RecordLog<T extends RecordLine> {
  readonly #file: string;
  readonly #max: number;
  readonly #weightOf: (record: T) => number;
  #weight = 0;
  readonly #records = new Map<string, T>();
  /** The weight of all lines of the file. */
  #written = 0;
  #isCut = false;
  #writing: Promise<void> = Promise.resolve();

  /** `max`: how much is kept; each record counts as one, or as `weightOf` says. */
  constructor(file: string, max: number, weightOf: (record: T) => number = () => 1) {
    this.#file = file;
    this.#max = max;
    this.#weightOf = weightOf;
  }

  async load(): Promise<void> {
    await this.#writing;
    const text = (await readIfThere(this.#file)) ?? '';
    this.#written = 0;
    // The end of a process truncated the last line: the next one must begin with a new line.
    this.#isCut = text !== '' && !text.endsWith('\n');
    for (const line of text.split('\n')) {
      try {
        if (line === '') continue;
        const record = JSON.parse(line) as T | Removed;
        if ('isGone' in record) {
          this.#drop(record.id);
          continue;
        }
        this.#written += this.#weightOf(record);
        this.#keep(record);
      } catch {
        // The end of the process truncated the line.
      }
    }
  }

  /** Newest first. */
  list(limit: number): readonly T[] {
    return [...this.#records.values()].slice(-limit).reverse();
  }

  get(id: string): T | undefined {
    return this.#records.get(id);
  }

  put(record: T): void {
    this.#keep(record);
    this.#written += this.#weightOf(record);
    this.#append(record);
  }

  remove(id: string): void {
    if (!this.#records.has(id)) return;
    this.#drop(id);
    this.#written += 1;
    this.#append({ id, isGone: true });
  }

  #append(line: T | Removed): void {
    const isLong = this.#written > 4 * this.#max;
    if (isLong) this.#written = this.#weight;
    const lines = isLong ? [...this.#records.values()] : [line];
    const text = (this.#isCut ? '\n' : '') + lines.map((one) => `${JSON.stringify(one)}\n`).join('');
    this.#isCut = false;
    this.#writing = this.#writing
      .then(() => this.#store(text, isLong))
      // The file misses records now, or ends with a part of one: the next write replaces it as a whole.
      .catch(() => void (this.#written = Infinity));
  }

  async flush(): Promise<void> {
    await this.#writing;
  }

  async #store(text: string, isWhole: boolean): Promise<void> {
    await makeFolder(dirname(this.#file), 0o700);
    if (isWhole) await replaceWhole(this.#file, text, { isPrivate: true });
    else await appendFile(this.#file, text, { mode: 0o600 });
  }

  #keep(record: T): void {
    const before = this.#records.get(record.id);
    this.#weight += this.#weightOf(record) - (before === undefined ? 0 : this.#weightOf(before));
    this.#records.set(record.id, record);
    // The newest record stays, whatever its weight.
    for (const [id, oldest] of this.#records) {
      if (this.#weight <= this.#max || this.#records.size === 1) break;
      this.#weight -= this.#weightOf(oldest);
      this.#records.delete(id);
    }
  }

  #drop(id: string): void {
    const record = this.#records.get(id);
    if (record === undefined) return;
    this.#weight -= this.#weightOf(record);
    this.#records.delete(id);
  }
}
