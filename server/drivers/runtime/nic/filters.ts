// Keeps the filters of nics in the kernel: one nft run for each change. filter-rules.ts has the text.
import { writeFileSync } from 'node:fs';
import type { Log } from '../../../lib/log.ts';
import { ifMissing } from '../../../lib/shared/missing-files.ts';
import { repeatWhile } from '../../../lib/shared/repeat.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import type { NicRun } from '../../device-parts.ts';
import type { NftTables } from '../../nft-tables.ts';
import {
  allFilters,
  filterFamily,
  filterTable,
  isFiltered,
  removeFilter,
  setFilter,
  type FilterFamily,
} from './filter-rules.ts';

/**
 * Without their filters containers may use the addresses of others, so a restart of the daemon does not leave it at one failure. A program
 * that hangs delays the start once; the look at the tables each minute tries again.
 */
const restoring = { forMs: 10_000, runs: 5, pauseMs: 500 };

export class NicFilters {
  readonly #tag: string;
  readonly #tables: NftTables;
  /** Nics with a filter by host interface. */
  readonly #filtered = new Map<string, NicRun>();

  constructor(tag: string, tables: NftTables) {
    this.#tag = tag;
    this.#tables = tables;
  }

  /** Works before the interface exists, so that no frame gets through in between. Replaces an earlier filter of the nic. */
  async set(nic: NicRun): Promise<void> {
    if (!isFiltered(nic)) return this.remove(nic);
    const before = this.#filtered.get(nic.hostName);
    this.#filtered.set(nic.hostName, nic);
    try {
      await this.#change(nic, `the filter of device ${nic.device} cannot be set by nft`, setFilter(nic, this.#tag));
    } catch (error) {
      if (before === undefined) this.#filtered.delete(nic.hostName);
      else this.#filtered.set(nic.hostName, before);
      throw error;
    }
  }

  /** The table is removed with the last filter. Idempotent. */
  async remove(nic: NicRun): Promise<void> {
    const before = this.#filtered.get(nic.hostName);
    if (nic.kind !== 'veth' || before === undefined) return;
    this.#filtered.delete(nic.hostName);
    const what = `the filter of device ${nic.device} cannot be removed by nft`;
    const family = filterFamily(before);
    try {
      if (this.#of(family).length > 0) await this.#change(before, what, removeFilter(before, this.#tag));
      else await this.#tables.remove(what, [filterTable(this.#tag, family)]);
    } catch (error) {
      this.#filtered.set(nic.hostName, before);
      throw error;
    }
  }

  /** After a start of the daemon: restores the filters of exactly these nics, whatever happened to the rules. */
  async restore(nics: readonly NicRun[], log: Log): Promise<void> {
    const filtered = nics.filter(isFiltered);
    for (const nic of filtered) this.#filtered.set(nic.hostName, nic);
    for (const family of ['bridge', 'inet'] as const) if (this.#of(family).length > 0) await this.#restore(family, log);
    await this.#tables.sweep(`gantrynic_${this.#tag}`);
    for (const nic of filtered) isolatePort(nic);
  }

  async #restore(family: FilterFamily, log: Log): Promise<void> {
    const tables = [filterTable(this.#tag, family)];
    const whole = this.#wholeOf(family);
    const until = performance.now() + restoring.forMs;
    const mayPass = (): boolean => performance.now() < until;
    try {
      const set = () => this.#tables.set('filters of nics cannot be restored by nft', tables, whole(), whole);
      await repeatWhile(set, { ...restoring, mayPass });
    } catch (error) {
      log.error('containers may use the addresses of others: their nics have no filters', { reason: errorText(error) });
      this.#tables.setLater(tables, whole);
    }
  }

  #change(nic: NicRun, what: string, rules: string): Promise<void> {
    const family = filterFamily(nic);
    return this.#tables.set(what, [filterTable(this.#tag, family)], rules, this.#wholeOf(family));
  }

  readonly #wholeOf = (family: FilterFamily) => (): string => allFilters(this.#of(family), this.#tag, family);

  #of(family: FilterFamily): readonly NicRun[] {
    return [...this.#filtered.values()].filter((nic) => filterFamily(nic) === family);
  }
}

/** Also sets it on the bridge, which then separates the port from isolated ports of other daemons. The port must exist. */
export function isolatePort(nic: NicRun): void {
  if (nic.kind !== 'veth' || nic.link === undefined) return;
  try {
    writeFileSync(`/sys/class/net/${nic.hostName}/brport/isolated`, nic.isolated === true ? '1' : '0');
  } catch (error) {
    // The interface vanished with its container.
    ifMissing(error);
  }
}
