// Serialises asynchronous work per key, in order of arrival; keys without work cost nothing.

export class KeyedMutex {
  readonly #tails = new Map<string, Promise<void>>();
  readonly #sharing = new Map<string, Set<Promise<unknown>>>();

  /** Runs `work` after all earlier work on `key` has ended (successfully or not). */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const { promise, resolve } = withResolvers();
    this.#tails.set(key, promise);
    await before;
    try {
      return await work();
    } finally {
      if (this.#tails.get(key) === promise) this.#tails.delete(key);
      resolve();
    }
  }

  /** Like `run`, but once `work` calls `share`, other work on `key` may run concurrently with the rest of it. Only work that awaits
   *  `unshared` waits for that rest. */
  async runShared<T>(key: string, work: (share: () => void) => Promise<T>): Promise<T> {
    const { promise: shared, resolve: share } = withResolvers();
    let result: Promise<T> | undefined;
    try {
      await this.run(key, async () => {
        result = work(share);
        this.#sharing.set(key, (this.#sharing.get(key) ?? new Set()).add(result));
        await Promise.race([shared, result.then(noop, noop)]);
      });
      return await (result as unknown as Promise<T>);
    } finally {
      const rests = this.#sharing.get(key);
      if (result !== undefined) rests?.delete(result);
      if (rests?.size === 0) this.#sharing.delete(key);
    }
  }

  /** For work that holds `key`: waits for the rest of shared work. No new shared work can start during that. */
  async unshared(key: string): Promise<void> {
    const rests: Iterable<Promise<unknown>> = this.#sharing.get(key) ?? [];
    await Promise.allSettled(rests);
  }

  /** Holds several keys at once. */
  runAll<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    return inOrder(keys, (key, next) => this.run(key, next), work);
  }

  /** Like `runAll`, and no shared work on the keys is under way. */
  runAllUnshared<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const alone = (key: string, next: () => Promise<T>): Promise<T> =>
      this.run(key, async () => {
        await this.unshared(key);
        return next();
      });
    return inOrder(keys, alone, work);
  }

  /** Like `runAll`, side by side with other work that shares the keys. */
  shareAll<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const together = (key: string, next: () => Promise<T>): Promise<T> =>
      this.runShared(key, (share) => {
        share();
        return next();
      });
    return inOrder(keys, together, work);
  }
}

/** Acquires the keys in sorted order, each before the next, to avoid deadlocks. */
async function inOrder<T>(
  keys: readonly string[],
  acquire: (key: string, next: () => Promise<T>) => Promise<T>,
  work: () => Promise<T>,
): Promise<T> {
  const sorted = [...new Set(keys)].sort();
  const step = (index: number): Promise<T> => {
    const key = sorted[index];
    return key === undefined ? work() : acquire(key, () => step(index + 1));
  };
  return step(0);
}

const noop = (): void => {};

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
