// Ends what a removed member has open here. New requests of it are refused from the moment on in which its record is gone.

/** The one that leaves still hears that it has left. */
const answerMs = 2_000;

export class FormerMembers {
  readonly #now: () => ReadonlySet<string>;
  readonly #end: (fingerprint: string) => void;
  #known: ReadonlySet<string>;

  /** `now`: fingerprints of the certificates of members; `end`: cuts the connections of one. */
  constructor(now: () => ReadonlySet<string>, end: (fingerprint: string) => void) {
    this.#now = now;
    this.#end = end;
    this.#known = now();
  }

  /** The members may be others now. */
  look(): void {
    const gone = [...this.#known].filter((fingerprint) => !this.#now().has(fingerprint));
    this.#known = this.#now();
    for (const fingerprint of gone)
      setTimeout(() => {
        if (!this.#now().has(fingerprint)) this.#end(fingerprint);
      }, answerMs).unref();
  }
}
