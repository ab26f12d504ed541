// Tracks the writes of a provider to a server during one apply: whether they have begun, and how long ago the last one ended.

export class Activity {
  #running = 0;
  #endedMs = Date.now();
  #hasWritten = false;

  /** False while Terraform plans. After the first write Terraform only repeats plans, which must have the same result. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** `isNothing`: whether a write that failed so changed nothing, and does not count. */
  async during<T>(write: () => Promise<T>, isNothing: (error: unknown) => boolean = () => false): Promise<T> {
    this.#hasWritten = true;
    this.#running += 1;
    let counts = true;
    try {
      return await write();
    } catch (error) {
      counts = !isNothing(error);
      throw error;
    } finally {
      this.#running -= 1;
      if (counts) this.#endedMs = Date.now();
    }
  }

  /** Milliseconds since the last write ended; 0 while one is running. */
  quietMs(): number {
    return this.#running > 0 ? 0 : Date.now() - this.#endedMs;
  }
}
