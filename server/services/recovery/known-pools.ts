// Lists the pools that this host has had, in a file of the state directory: a daemon that lost its records finds the pools by it.
import { readFile } from 'node:fs/promises';
import { writeDurably } from '../../lib/durable-files.ts';
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { PoolDocument } from '../../records/documents.ts';
import type { Records } from '../../records/records.ts';
import { decodeDocument } from '../../records/codec.ts';

export interface KnownPoolsDeps {
  readonly path: string;
  readonly records: Pick<Records, 'pools'>;
  readonly log: Log;
}

export type PoolsByName = ReadonlyMap<string, PoolDocument>;

export class KnownPools {
  readonly #deps: KnownPoolsDeps;
  /** Names of pools whose records this daemon has had: only their deletion counts. */
  readonly #had = new Set<string>();

  constructor(deps: KnownPoolsDeps) {
    this.#deps = deps;
  }

  get path(): string {
    return this.#deps.path;
  }

  /** Empty if the file is missing or unreadable. */
  async all(): Promise<PoolsByName> {
    const text = await readFile(this.#deps.path, 'utf8').catch(() => '{}');
    try {
      const parsed = JSON.parse(text) as Readonly<Record<string, unknown>>;
      return new Map(
        Object.entries(parsed).map(([name, document]) => [
          name,
          decodeDocument('pools', name, Buffer.from(JSON.stringify(document))),
        ]),
      );
    } catch (error) {
      this.#deps.log.warn(`The list of pools ${this.#deps.path} cannot be read: ${errorText(error)}`);
      return new Map();
    }
  }

  /** Listed pools without a record: the records were lost. */
  async lost(): Promise<readonly string[]> {
    return [...(await this.all()).keys()].filter((name) => !this.#deps.records.pools.has(name));
  }

  /** Updates the file for changed or deleted pools. Pools that this daemon never had stay in the file. */
  async note(names: readonly string[]): Promise<void> {
    const before = await this.all();
    const after = new Map(before);
    for (const name of names) {
      const document = this.#deps.records.pools.get(name)?.document;
      if (document?.lifecycle === 'ready') {
        after.set(name, document);
        this.#had.add(name);
      } else if (document === undefined && this.#had.delete(name)) after.delete(name);
    }
    const text = (pools: PoolsByName): string => `${JSON.stringify(Object.fromEntries(pools), null, 1)}\n`;
    if (text(after) === text(before)) return;
    await writeDurably(this.#deps.path, text(after), 0o600).catch((error: unknown) => {
      this.#deps.log.warn(`The list of pools ${this.#deps.path} cannot be written: ${errorText(error)}`);
    });
  }
}
