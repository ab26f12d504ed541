// A copy of the cluster's records in a file of the state directory: the member's own records and the shared ones. A start that waits for a
// majority serves from it. It lags a little, and nothing else reads it.
import { readFile } from 'node:fs/promises';
import { keptRecordsPath } from '../../membership/membership.ts';
import { writeDurably } from '../../lib/durable-files.ts';
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { encodeDocument } from '../../records/codec.ts';
import { kindNames } from '../../records/documents.ts';
import type { Records } from '../../records/records.ts';

export interface RecordsFile {
  readonly number: number;
  /** When they were written. */
  readonly at: Date;
  readonly records: readonly (readonly [key: string, document: string])[];
}

/** Minimum time between two writes. */
const everyMs = 10_000;

export class RecordKeeper {
  readonly #deps: { readonly stateDir: string; readonly records: Records; readonly log: Log };
  #written = '';
  #lookedMs = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> = Promise.resolve();

  constructor(deps: { readonly stateDir: string; readonly records: Records; readonly log: Log }) {
    this.#deps = deps;
  }

  /** Writes the changes. */
  look(): void {
    if (performance.now() - this.#lookedMs < everyMs) return;
    this.#lookedMs = performance.now();
    this.#writing = this.#writing.then(() => this.#write());
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#write();
  }

  async #write(): Promise<void> {
    const { stateDir, records, log } = this.#deps;
    const number = records.member;
    const generation = kindNames.map((kind) => records.contents.collections[kind].generation).join();
    if (number === undefined || generation === this.#written) return;
    const kept = {
      v: 1,
      number,
      at: new Date().toISOString(),
      records: kindNames.flatMap((kind) =>
        records.contents.collections[kind]
          .list()
          .map(({ name, document }) => [
            records.contents.space.keyOf(kind, name),
            Buffer.from(encodeDocument(document)).toString(),
          ]),
      ),
    };
    try {
      await writeDurably(keptRecordsPath(stateDir), JSON.stringify(kept), 0o600);
      this.#written = generation;
    } catch (error) {
      log.warn(`Keeping a copy of the records of this member failed: ${errorText(error)}`);
    }
  }
}

/** Undefined: there is none, or it has an unknown format of another release. */
export async function readRecordsFile(stateDir: string): Promise<RecordsFile | undefined> {
  try {
    const { v, number, at, records } = JSON.parse(await readFile(keptRecordsPath(stateDir), 'utf8')) as Partial<
      RecordsFile & { readonly v: number; readonly at: string }
    >;
    if (v !== 1 || typeof number !== 'number' || typeof at !== 'string' || !Array.isArray(records)) return undefined;
    return { number, at: new Date(at), records };
  } catch {
    return undefined;
  }
}
