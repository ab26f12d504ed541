// What a provider writes to a server during one apply: whether it has begun, and since when nothing goes on any more.

export class Activity {
  readonly #nowMs: () => number;
  #running = 0;
  #endedMs: number;
  #hasWritten = false;

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs;
    this.#endedMs = nowMs();
  }

  /** False while plans are made; from the first write on Terraform only repeats plans, which must come out as before. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  async during<T>(write: () => Promise<T>): Promise<T> {
    this.#hasWritten = true;
    this.#running += 1;
    try {
      return await write();
    } finally {
      this.#running -= 1;
      this.#endedMs = this.#nowMs();
    }
  }

  /** Milliseconds since the last write ended; 0 while one goes on. */
  quietMs(): number {
    return this.#running > 0 ? 0 : this.#nowMs() - this.#endedMs;
  }
}
