// Closes what a removed member has open here. Its new requests are refused as soon as its record is deleted.

/** A leaving member still gets its answer. */
const answerMs = 2_000;

export class FormerMembers {
  readonly #now: () => ReadonlySet<string>;
  readonly #end: (fingerprint: string) => void;
  #known: ReadonlySet<string>;

  /** `now`: fingerprints of the members' certificates; `end`: closes the connections of one. */
  constructor(now: () => ReadonlySet<string>, end: (fingerprint: string) => void) {
    this.#now = now;
    this.#end = end;
    this.#known = now();
  }

  /** Call when the members may have changed. */
  look(): void {
    const gone = [...this.#known].filter((fingerprint) => !this.#now().has(fingerprint));
    this.#known = this.#now();
    for (const fingerprint of gone)
      setTimeout(() => {
        if (!this.#now().has(fingerprint)) this.#end(fingerprint);
      }, answerMs).unref();
  }
}
