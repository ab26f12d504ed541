// Removes old history from etcd, which otherwise keeps everything until its quota is used up. Only the store's writer runs it.
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { EtcdBackend } from './etcd.ts';

export interface CompactorOptions {
  readonly store: EtcdBackend;
  readonly log: Log;
  readonly everyMs?: number;
}

/** Revisions older than the previous run go; watchers further behind re-read everything. */
const defaultEveryMs = 5 * 60_000;
/** The newest revisions stay, however old. */
const keptRevisions = 1_000;

export class Compactor {
  readonly #options: CompactorOptions;
  readonly #timer: NodeJS.Timeout;
  /** Revision at the previous run. */
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

  /** A warning for the operator; undefined: none. */
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

  /** Logs alarms when they change, not at every run. */
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

/** The oldest revision to keep: that of the previous run, or an older one to keep the newest revisions. */
export function compactTo(rev: number, earlierRev: number | undefined): number | undefined {
  if (earlierRev === undefined) return undefined;
  const keepFrom = Math.min(earlierRev, rev - keptRevisions);
  return keepFrom > 0 ? keepFrom : undefined;
}
