// Serializes work that names the same keys.

export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = keys.flatMap((key) => this.#last.get(key) ?? []);
    const result = Promise.allSettled(before).then(work);
    for (const key of keys) this.#last.set(key, result);
    try {
      return await result;
    } finally {
      for (const key of keys) if (this.#last.get(key) === result) this.#last.delete(key);
    }
  }
}
