// Removes old history from etcd, which keeps everything by default until its quota is used up. Only the writer of a store runs it.
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { EtcdBackend } from './etcd.ts';

export interface CompactorOptions {
  readonly store: EtcdBackend;
  readonly log: Log;
  readonly everyMs?: number;
}

/** Revisions that were made before the last run stay out of reach; watchers that are further behind read everything again. */
const defaultEveryMs = 5 * 60_000;
/** History that stays, however old it is. */
const keptRevisions = 1_000;

export class Compactor {
  readonly #options: CompactorOptions;
  readonly #timer: NodeJS.Timeout;
  /** Revision at the run before. */
  #earlierRev: number | undefined;
  #alarms = '';
  #running: Promise<void> = Promise.resolve();
  #problem: string | undefined;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.#running = this.run();
    }, options.everyMs ?? defaultEveryMs);
    this.#timer.unref();
  }

  /** What an operator has to know; undefined: all is well. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Never throws: the next run may succeed. */
  async run(): Promise<void> {
    const { store, log } = this.#options;
    try {
      const { rev } = await store.status();
      const keepFrom = compactTo(rev, this.#earlierRev);
      this.#earlierRev = rev;
      if (keepFrom !== undefined) await store.compact(keepFrom);
      await this.#reportAlarms();
    } catch (error) {
      this.#problem = `Removing old history from etcd failed: ${errorText(error)}`;
      log.warn(this.#problem);
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** A line when alarms change, not one every time. */
  async #reportAlarms(): Promise<void> {
    const { store, log } = this.#options;
    const { alarms, sizeBytes, usedBytes } = await store.health();
    const now = alarms.join(', ');
    this.#problem = now === '' ? undefined : `etcd has raised the alarm ${now}: see the operators' page of etcd`;
    if (now === this.#alarms) return;
    const size = `${megabytes(usedBytes)} of ${megabytes(sizeBytes)} in its file are in use`;
    if (now === '') log.info(`The alarm ${this.#alarms} of etcd has ended`);
    else log.error(`etcd has raised the alarm ${now} (${size}): see the operators' page of etcd`);
    this.#alarms = now;
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** The oldest revision to keep: that of the run before, and the newest in any case. */
export function compactTo(rev: number, earlierRev: number | undefined): number | undefined {
  if (earlierRev === undefined) return undefined;
  const keepFrom = Math.min(earlierRev, rev - keptRevisions);
  return keepFrom > 0 ? keepFrom : undefined;
}
