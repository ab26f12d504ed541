// Tracks work that needs the files of an image, by fingerprint, for all projects: the deletion of the files waits for it.
export class ImageUsers {
  readonly #work = new Map<string, Set<Promise<unknown>>>();

  async during<T>(fingerprint: string, work: () => Promise<T>): Promise<T> {
    const running = work();
    const settled = Promise.allSettled([running]);
    const users = this.#work.get(fingerprint) ?? new Set();
    this.#work.set(fingerprint, users.add(settled));
    try {
      return await running;
    } finally {
      users.delete(settled);
      if (users.size === 0) this.#work.delete(fingerprint);
    }
  }

  /** Resolves when the current users have ended. */
  async ended(fingerprint: string): Promise<void> {
    await Promise.all(this.#work.get(fingerprint) ?? new Set<Promise<unknown>>());
  }
}
