// The open parts of a daemon, closed in reverse order: when it stops, and when its start fails half way.
type Close = () => void | Promise<void>;

export class OpenParts {
  readonly #closes: Close[] = [];

  add(close: Close): void {
    this.#closes.push(close);
  }

  async closeAll(): Promise<void> {
    for (const close of this.#closes.splice(0).toReversed()) await close();
  }

  /** A part that fails to close does not keep the others open. */
  async abandon(): Promise<void> {
    for (const close of this.#closes.splice(0).toReversed()) await Promise.resolve(close()).catch(() => {});
  }
}
