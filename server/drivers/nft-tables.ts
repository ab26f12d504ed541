// The tables of nftables that this daemon has on its host. Tables that somebody else removed are set again: `nft flush ruleset`, which a restart
// of Debian's nftables.service runs, removes those of everybody.
import { exec, ExecError } from '../lib/exec.ts';
import type { Log } from '../lib/log.ts';
import { ConcurrencyLimit } from '../lib/shared/concurrency-limit.ts';
import { errorText } from '../lib/shared/reason.ts';
import { driverErrors } from './driver-error.ts';

/** Family and name, such as `inet gantry_br0`. */
export type Table = string;

/** Access to nftables; default: those of this host. */
export interface Nft {
  /** Applies all of the rules or none. Throws an Error with the reason. */
  apply(rules: string, signal?: AbortSignal): Promise<void>;
  list(): Promise<ReadonlySet<Table>>;
}

/** Rules that remove the tables, whether or not they are there: adding first makes the deletion valid. */
export const removal = (tables: readonly Table[]): string =>
  tables.map((table) => `add table ${table}\ndelete table ${table}\n`).join('');

export class NftTables {
  readonly #log: Log;
  readonly #nft: Nft;
  /** Rules that set a table whole. */
  readonly #kept = new Map<Table, () => string>();
  /** Tables that could not be set. */
  readonly #unset = new Set<Table>();
  readonly #turns = new ConcurrencyLimit(1);

  constructor(log: Log, nft = hostNft) {
    this.#log = log;
    this.#nft = nft;
  }

  /** Applies the rules. `whole`: rules that set these tables whole, where the former only change them. Throws DriverError Failed that begins with
   *  `what`, or the reason of the abort. */
  set(what: string, tables: readonly Table[], rules: string, whole = () => rules, signal?: AbortSignal): Promise<void> {
    return this.#turns.run(async () => {
      const isUnset = tables.some((table) => this.#unset.has(table));
      await this.#apply(what, isUnset ? whole() : rules, signal);
      this.#keep(tables, whole);
    });
  }

  /** The tables could not be set: `look` sets them. */
  setLater(tables: readonly Table[], whole: () => string): void {
    this.#keep(tables, whole);
    for (const table of tables) this.#unset.add(table);
  }

  #keep(tables: readonly Table[], whole: () => string): void {
    for (const table of tables) {
      this.#kept.set(table, whole);
      this.#unset.delete(table);
    }
  }

  /** Idempotent. Throws DriverError Failed. */
  remove(what: string, tables: readonly Table[]): Promise<void> {
    return this.#turns.run(async () => {
      await this.#apply(what, removal(tables));
      for (const table of tables) {
        this.#kept.delete(table);
        this.#unset.delete(table);
      }
    });
  }

  /** After a crash: removes the tables whose name begins so, and which were not set since. Never throws. */
  sweep(prefix: string): Promise<void> {
    return this.#turns.run(async () => {
      try {
        const left = [...(await this.#nft.list())].filter((table) => !this.#kept.has(table));
        const found = left.filter((table) => table.split(' ')[1]?.startsWith(prefix) === true);
        if (found.length > 0) await this.#nft.apply(removal(found));
      } catch (error) {
        this.#log.debug('left-over nftables tables cannot be removed', { prefix, reason: errorText(error) });
      }
    });
  }

  /** Each minute: sets the tables again that are not there. Never throws. */
  async look(): Promise<void> {
    if (this.#kept.size === 0) return;
    await this.#turns
      .run(() => this.#look())
      .catch((error: unknown) => {
        this.#log.warn(`The nftables tables of this host cannot be checked: ${errorText(error)}`);
      });
  }

  async #look(): Promise<void> {
    const there = await this.#nft.list();
    const missing = [...this.#kept].filter(([table]) => !there.has(table) || this.#unset.has(table));
    for (const whole of new Set(missing.map(([, text]) => text))) {
      const names = missing.flatMap(([table, text]) => (text === whole ? [table] : []));
      const rules = `The rules of nftables in ${names.join(', ')}`;
      try {
        await this.#nft.apply(whole());
        for (const name of names) this.#unset.delete(name);
        this.#log.warn(`${rules} were missing, and are set again`);
      } catch (error) {
        this.#log.error(`${rules} are missing: ${errorText(error)}`);
      }
    }
  }

  async #apply(what: string, rules: string, signal?: AbortSignal): Promise<void> {
    try {
      await this.#nft.apply(rules, signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw driverErrors.failed(what, error);
    }
  }
}

const limit = { timeoutMs: 15_000, maxBytes: 16 * 1024 * 1024 };

const hostNft: Nft = {
  async apply(rules, signal) {
    await nft(['-f', '-'], rules, signal);
  },
  async list() {
    const { stdout } = await nft(['list', 'tables'], '');
    return new Set([...stdout.matchAll(/^table (\S+ \S+)$/gm)].map(([, table = '']) => table));
  },
};

async function nft(args: readonly string[], input: string, signal?: AbortSignal) {
  try {
    return await exec(['nft', ...args], { ...limit, input }, signal);
  } catch (error) {
    throw error instanceof ExecError && error.stderr.trim() !== '' ? new Error(error.stderr.trim()) : error;
  }
}
