// Serialises asynchronous work per key, in order of arrival; keys without work cost nothing.

export class KeyedMutex {
  readonly #tails = new Map<string, Promise<void>>();

  isBusy(key: string): boolean {
    return this.#tails.has(key);
  }

  /** Runs `work` when all earlier work on `key` has ended (well or badly). */
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

  /** Holds several keys at once; taken in sorted order so that two callers cannot deadlock. */
  async runAll<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const sorted = [...new Set(keys)].sort();
    const step = (index: number): Promise<T> => {
      const key = sorted[index];
      return key === undefined ? work() : this.run(key, () => step(index + 1));
    };
    return step(0);
  }
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
