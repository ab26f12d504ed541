// Keeps the filters of nics in the kernel: one nft run for each change. filter-rules.ts has the text.
import { writeFileSync } from 'node:fs';
import { exec, ExecError } from '../../../lib/exec.ts';
import { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import type { Log } from '../../../lib/log.ts';
import { repeatWhile } from '../../../lib/shared/repeat.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import type { NicRun } from '../../device-parts.ts';
import { DriverError } from '../../driver-error.ts';
import { findProgram } from '../host/programs.ts';
import {
  allFilters,
  filterFamily,
  isFiltered,
  removeFilter,
  removeFilters,
  setFilter,
  type FilterFamily,
} from './filter-rules.ts';
import { ifMissing } from '../../../lib/shared/missing-files.ts';

const limit = { timeoutMs: 15_000 };

/**
 * Without their filters containers may use the addresses of others, so a restart of the daemon does not leave it at one failure. A program
 * that hangs is not run again.
 */
const restoring = { forMs: 10_000, runs: 5, pauseMs: 500 };

export class NicFilters {
  readonly #tag: string;
  readonly #mutex = new KeyedMutex();
  /** Host interfaces with a filter, and the family of its table: the table is removed with the last one. */
  readonly #filtered = new Map<string, FilterFamily>();
  readonly #nft: typeof runNft;

  /** `nft` applies rules to this host by default. */
  constructor(tag: string, nft = runNft) {
    this.#tag = tag;
    this.#nft = nft;
  }

  /** Works before the interface exists, so that no frame gets through in between. Replaces an earlier filter of the nic. */
  async set(nic: NicRun): Promise<void> {
    if (!isFiltered(nic)) return this.remove(nic);
    await this.#run(async () => {
      await this.#nft(setFilter(nic, this.#tag), `the filter of device ${nic.device} cannot be set`);
      this.#filtered.set(nic.hostName, filterFamily(nic));
    });
  }

  /** Idempotent. */
  async remove(nic: NicRun): Promise<void> {
    if (nic.kind !== 'veth' || !this.#filtered.has(nic.hostName)) return;
    await this.#run(async () => {
      const family = filterFamily(nic);
      const isLast = [...this.#filtered].every(([name, other]) => name === nic.hostName || other !== family);
      const rules = isLast ? removeFilters(this.#tag, [family]) : removeFilter(nic, this.#tag);
      await this.#nft(rules, `the filter of device ${nic.device} cannot be removed`);
      this.#filtered.delete(nic.hostName);
    });
  }

  /** After a start of the daemon: restores the filters of exactly these nics, whatever happened to the rules. */
  async restore(nics: readonly NicRun[], log: Log): Promise<void> {
    const filtered = nics.filter(isFiltered);
    try {
      await this.#run(async () => {
        if (findProgram('nft') === undefined && filtered.length === 0) return;
        const rules = allFilters(filtered, this.#tag);
        const until = performance.now() + restoring.forMs;
        const mayPass = (): boolean => performance.now() < until;
        await repeatWhile(() => this.#nft(rules, 'filters of nics cannot be restored'), { ...restoring, mayPass });
        if (filtered.length === 0) await this.#nft(removeFilters(this.#tag), 'filters of nics cannot be removed');
        this.#filtered.clear();
        for (const nic of filtered) this.#filtered.set(nic.hostName, filterFamily(nic));
        for (const nic of filtered) isolatePort(nic);
      });
    } catch (error) {
      log.error('containers may use the addresses of others: their nics have no filters', { reason: errorText(error) });
    }
  }

  #run(work: () => Promise<void>): Promise<void> {
    return this.#mutex.run('table', work);
  }
}

async function runNft(input: string, what: string): Promise<void> {
  try {
    await exec([findProgram('nft') ?? 'nft', '-f', '-'], { ...limit, input });
  } catch (error) {
    const reason = error instanceof ExecError ? error.stderr.trim().split('\n')[0] : undefined;
    throw new DriverError('Failed', `${what} by nft`, reason === undefined ? error : new Error(reason));
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
