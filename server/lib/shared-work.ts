// Runs work once for all concurrent callers, reports its progress to all of them, and aborts it when the last caller leaves.

interface SharedRun<T> {
  readonly abort: AbortController;
  readonly result: Promise<T>;
  readonly reports: Set<(progress: string) => void>;
  lastReport: string | undefined;
  wanted: number;
}

export class SharedWork<T> {
  readonly #shared = new Map<string, SharedRun<T>>();

  /** The result of `work`, whichever caller passed it. A caller that aborts leaves at once; the last one only after the work has cleaned
   *  up. */
  async run(
    key: string,
    work: (report: (progress: string) => void, signal: AbortSignal) => Promise<T>,
    report: (progress: string) => void,
    signal: AbortSignal,
  ): Promise<T> {
    signal.throwIfAborted();
    let shared = this.#shared.get(key);
    while (shared?.abort.signal.aborted === true) {
      await shared.result.catch(() => {}); // other callers have aborted it
      signal.throwIfAborted();
      shared = this.#shared.get(key);
    }
    shared ??= this.#start(key, work);
    shared.wanted += 1;
    shared.reports.add(report);
    if (shared.lastReport !== undefined) report(shared.lastReport);
    try {
      return await this.#orLeave(shared, signal);
    } finally {
      shared.reports.delete(report);
    }
  }

  #start(key: string, work: (report: (progress: string) => void, signal: AbortSignal) => Promise<T>): SharedRun<T> {
    const open = { abort: new AbortController(), reports: new Set<(progress: string) => void>(), wanted: 0 };
    const report = (progress: string): void => {
      shared.lastReport = progress;
      for (const report of open.reports) report(progress);
    };
    // In a separate turn: an immediate report needs the finished initialization.
    const result = Promise.resolve()
      .then(() => work(report, open.abort.signal))
      .finally(() => this.#shared.delete(key));
    result.catch(() => {}); // all callers may have left
    const shared: SharedRun<T> = { ...open, result, lastReport: undefined };
    this.#shared.set(key, shared);
    return shared;
  }

  #orLeave(shared: SharedRun<T>, signal: AbortSignal): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const leave = (): void => {
        shared.wanted -= 1;
        const reason: unknown = signal.reason;
        if (shared.wanted > 0) {
          reject(reason);
          return;
        }
        shared.abort.abort(reason);
        shared.result.then(
          () => reject(reason),
          () => reject(reason),
        );
      };
      signal.addEventListener('abort', leave, { once: true });
      shared.result.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    });
  }
}
