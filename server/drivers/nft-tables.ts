// The tables of nftables that this daemon has on its host. Tables that somebody else removed or emptied are set again: `nft flush ruleset`, which
// a restart of Debian's nftables.service runs, removes those of everybody.
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
  /** Tables of the families of this daemon's, with the number of their rules; for those of `withElements` also of elements of their sets and maps. */
  list(withElements?: readonly Table[]): Promise<ReadonlyMap<Table, number>>;
}

/** Rules that remove the tables, whether or not they are there: adding first makes the deletion valid. */
export const removal = (tables: readonly Table[]): string =>
  tables.map((table) => `add table ${table}\ndelete table ${table}\n`).join('');

/** How many rules and elements each table has by such a text: commands as this daemon writes them, or a list of nft. Pure. */
export function countRules(text: string): ReadonlyMap<Table, number> {
  const tables = new Map<Table, Map<string, number>>();
  const add = (table: Table, chain: string, count = 1): void => {
    const chains = tables.get(table) ?? tables.set(table, new Map()).get(table);
    chains?.set(chain, (chains.get(chain) ?? 0) + count);
  };
  let [inTable, inChain] = ['', ''];
  for (const line of text.split('\n')) {
    const command = /^(add rule|flush chain|delete chain) (\S+ \S+) (\S+)/.exec(line);
    const element = /^(add|delete) element (\S+ \S+) /.exec(line);
    const table = /^table (\S+ \S+) \{$/.exec(line)?.[1];
    const block = /^\s+(\S+) (\S+) \{$/.exec(line);
    if (command !== null) {
      const [, verb, of = '', chain = ''] = command;
      if (verb === 'add rule') add(of, chain);
      else tables.get(of)?.delete(chain);
    } else if (element !== null) add(element[2] ?? '', elements, element[1] === 'add' ? 1 : -1);
    else if (table !== undefined) tables.set((inTable = table), new Map());
    else if (block !== null) inChain = block[1] === 'chain' ? (block[2] ?? '') : '';
    else if (/^\s*\}$/.test(line)) inChain = '';
    else if (inChain === '' && inTable !== '') add(inTable, elements, line.match(/"[^"]+"/g)?.length ?? 0);
    else if (inChain !== '' && /^\s+(?!type )\S/.test(line)) add(inTable, inChain);
  }
  return new Map([...tables].map(([table, chains]) => [table, [...chains.values()].reduce((a, b) => a + b, 0)]));
}

/** No chain has such a name. */
const elements = '';

/** How long a change waits for those before it. Each may take the time that a hanging nft is given. */
const longestWaitMs = 60_000;

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
    return this.#turn(what, async () => {
      const isUnset = tables.some((table) => this.#unset.has(table));
      await this.#apply(what, isUnset ? whole() : rules, signal);
      this.#keep(tables, whole);
    });
  }

  #turn(what: string, work: () => Promise<void>): Promise<void> {
    const arrived = performance.now();
    return this.#turns.run(async () => {
      const waitedMs = performance.now() - arrived;
      if (waitedMs > longestWaitMs)
        throw driverErrors.failed(what, new Error(`earlier changes by nft took ${Math.round(waitedMs / 1000)} s`));
      await work();
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
    return this.#turn(what, async () => {
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
        const left = [...(await this.#nft.list()).keys()].filter((table) => !this.#kept.has(table));
        const found = left.filter((table) => table.split(' ')[1]?.startsWith(prefix) === true);
        if (found.length > 0) await this.#nft.apply(removal(found));
      } catch (error) {
        this.#log.debug('left-over nftables tables cannot be removed', { prefix, reason: errorText(error) });
      }
    });
  }

  /** Each minute: sets the tables again that are not there, or have fewer rules than they should. Never throws. */
  async look(): Promise<void> {
    if (this.#kept.size === 0) return;
    await this.#turns
      .run(() => this.#look())
      .catch((error: unknown) => {
        this.#log.warn(`The nftables tables of this host cannot be checked: ${errorText(error)}`);
      });
  }

  async #look(): Promise<void> {
    const texts = [...new Set(this.#kept.values())].map((whole) => whole()).join('');
    const wanted = countRules(texts);
    const there = await this.#nft.list(
      [...this.#kept.keys()].filter((table) => texts.includes(`add element ${table} `)),
    );
    const isWhole = (table: Table): boolean => (there.get(table) ?? -1) >= (wanted.get(table) ?? 0);
    const missing = [...this.#kept].filter(([table]) => !isWhole(table) || this.#unset.has(table));
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
  /** Terse: sets of others may have very many elements. */
  async list(withElements = []) {
    const { stdout } = await nft(['-t', 'list ruleset inet; list ruleset bridge'], '');
    const there = countRules(stdout);
    const whole = withElements.filter((table) => there.has(table)).map((table) => `list table ${table}`);
    if (whole.length === 0) return there;
    return new Map([...there, ...countRules((await nft([whole.join('; ')], '')).stdout)]);
  },
};

async function nft(args: readonly string[], input: string, signal?: AbortSignal) {
  try {
    return await exec(['nft', ...args], { ...limit, input }, signal);
  } catch (error) {
    throw error instanceof ExecError && error.stderr.trim() !== '' ? new Error(error.stderr.trim()) : error;
  }
}
