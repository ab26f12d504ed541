// Keeps the filters of nics in the kernel: one nft run for each change. filter-rules.ts has the text.
import { writeFileSync } from 'node:fs';
import { exec, ExecError } from '../../../lib/exec.ts';
import { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import type { Log } from '../../../lib/log.ts';
import { RestlessLoop, type Rest } from '../../../lib/restless-loop.ts';
import { repeatWhile } from '../../../lib/shared/repeat.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import type { NicRun } from '../../device-parts.ts';
import { driverErrors } from '../../driver-error.ts';
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
 * that hangs delays the start once; further attempts follow in the background.
 */
const restoring = { forMs: 10_000, runs: 5, pauseMs: 500 };

export class NicFilters {
  readonly #tag: string;
  readonly #mutex = new KeyedMutex();
  /** Host interfaces with a filter, and the family of its table: the table is removed with the last one. */
  readonly #filtered = new Map<string, FilterFamily>();
  readonly #nft: typeof runNft;
  readonly #retryMs: number;
  #retries: RestlessLoop | undefined;

  /** `nft` applies rules to this host by default. `retryMs`: between attempts to restore that no start of the daemon waits for. */
  constructor(tag: string, nft = runNft, retryMs = 10_000) {
    this.#tag = tag;
    this.#nft = nft;
    this.#retryMs = retryMs;
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

  /** After a start of the daemon: restores the filters of exactly these nics, whatever happened to the rules. If that fails, further attempts
   *  follow in the background until one succeeds. `current`: the nics of running containers at that moment. */
  async restore(current: () => readonly NicRun[], log: Log): Promise<void> {
    const filtered = current().filter(isFiltered);
    try {
      await this.#run(() => this.#restoreExactly(filtered));
    } catch (error) {
      log.error('containers may use the addresses of others: their nics have no filters', { reason: errorText(error) });
      if (filtered.length === 0) return;
      const everyMs = { restless: this.#retryMs, settled: this.#retryMs };
      const look = () => this.#retry(current, log);
      const retries = new RestlessLoop({ look, everyMs, restlessMs: 0 });
      this.#retries = retries;
      setTimeout(() => retries.soon(), this.#retryMs).unref();
    }
  }

  async close(): Promise<void> {
    await this.#retries?.stop();
  }

  async #restoreExactly(filtered: readonly NicRun[]): Promise<void> {
    if (findProgram('nft') === undefined && filtered.length === 0) return;
    const rules = allFilters(filtered, this.#tag);
    const until = performance.now() + restoring.forMs;
    const mayPass = (): boolean => performance.now() < until;
    await repeatWhile(() => this.#nft(rules, 'filters of nics cannot be restored'), { ...restoring, mayPass });
    if (filtered.length === 0) await this.#nft(removeFilters(this.#tag), 'filters of nics cannot be removed');
    this.#filtered.clear();
    this.#note(filtered);
  }

  #note(nics: readonly NicRun[]): void {
    for (const nic of nics) this.#filtered.set(nic.hostName, filterFamily(nic));
    for (const nic of nics) isolatePort(nic);
  }

  /** Leaves alone what was set since: a container that is starting is not among the running ones. */
  async #retry(current: () => readonly NicRun[], log: Log): Promise<Rest> {
    try {
      await this.#run(async () => {
        const missing = current().filter((nic) => isFiltered(nic) && !this.#filtered.has(nic.hostName));
        if (missing.length === 0) return;
        const rules = missing.map((nic) => setFilter(nic, this.#tag)).join('');
        await this.#nft(rules, 'filters of nics cannot be restored');
        this.#note(missing);
      });
      log.info('the filters of nics are restored');
      return 'over';
    } catch {
      return 'restless';
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
    throw driverErrors.failed(`${what} by nft`, reason === undefined ? error : new Error(reason));
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
