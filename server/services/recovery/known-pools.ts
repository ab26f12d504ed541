// The pools that this host has had, in a file of the state directory: a daemon that has lost its records finds the pools by it.
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
  /** Names that this daemon has had a record of: only their deletion was seen. */
  readonly #had = new Set<string>();

  constructor(deps: KnownPoolsDeps) {
    this.#deps = deps;
  }

  get path(): string {
    return this.#deps.path;
  }

  /** Empty when there is no such file, or none that can be read. */
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

  /** Pools that there were and that no record knows: the records were lost. */
  async lost(): Promise<readonly string[]> {
    return [...(await this.all()).keys()].filter((name) => !this.#deps.records.pools.has(name));
  }

  /** These have changed, or are gone. What this daemon has never had stays in the file. */
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
