// One-time tokens that add a certificate to the trust store: kept in memory until they are used, withdrawn or expired.
import { randomSecret, sameSecret } from '../lib/secrets.ts';

export interface TrustGrant {
  readonly name: string;
  /** The only projects that its client may use; absent: everything. */
  readonly projects?: readonly string[];
  /** Projects without effect until the certificate is restricted. */
  readonly listed?: readonly string[];
  /** Whether the project of that name is still the one of when the token was made. Absent: always. */
  readonly isSame?: (project: string) => boolean;
}

interface TokenEntry {
  readonly secret: string;
  readonly grant: TrustGrant;
  readonly expiresAtMs: number | undefined;
  spend: () => void;
  /** Used, expired or withdrawn, perhaps while a use of it was under way. */
  hasEnded: boolean;
}

export interface IssuedToken {
  readonly secret: string;
  /** Resolves when the token is used; rejects when it expires or its signal aborts. Without a call the token never ends. */
  readonly spent: (signal: AbortSignal) => Promise<void>;
}

/** Max unused tokens; more are a program's mistake. */
const maxTokens = 1000;
/** A timer's maximum. */
const maxTimerMs = 2 ** 31 - 1;

export class TrustTokens {
  readonly #nowMs: () => number;
  readonly #issued = new Set<TokenEntry>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Undefined if there are too many unused tokens. */
  issue(grant: TrustGrant, expiresAtMs?: number): IssuedToken | undefined {
    if (this.#issued.size >= maxTokens) return undefined;
    const issued: TokenEntry = { secret: randomSecret(), grant, expiresAtMs, spend: () => {}, hasEnded: false };
    this.#issued.add(issued);
    return { secret: issued.secret, spent: (signal) => this.#spent(issued, signal) };
  }

  /** Runs `add` for the holder of the secret: at most one at a time, and successfully at most once. Undefined, without running it, for an
   *  invalid secret. A token whose `add` fails may be used again, unless it ended meanwhile. */
  async use<T>(secret: string, add: (grant: TrustGrant) => Promise<T>): Promise<T | undefined> {
    const issued = this.#take(secret);
    if (issued === undefined) return undefined;
    try {
      const added = await add(issued.grant);
      issued.spend();
      return added;
    } catch (error) {
      if (!issued.hasEnded) this.#issued.add(issued);
      throw error;
    }
  }

  /** Compares every token, so that timing reveals nothing. */
  #take(secret: string): TokenEntry | undefined {
    let found: TokenEntry | undefined;
    for (const issued of this.#issued) if (sameSecret(issued.secret, secret)) found = issued;
    if (found === undefined || this.#isExpired(found)) return undefined;
    this.#issued.delete(found);
    return found;
  }

  #isExpired({ expiresAtMs }: TokenEntry): boolean {
    return expiresAtMs !== undefined && this.#nowMs() >= expiresAtMs;
  }

  #spent(issued: TokenEntry, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const end = (report: () => void): void => {
        clearTimeout(timer);
        issued.hasEnded = true;
        this.#issued.delete(issued);
        report();
      };
      const watch = (): void => {
        if (this.#isExpired(issued)) return end(() => reject(new Error('the token expired before it was used')));
        if (issued.expiresAtMs === undefined) return;
        timer = setTimeout(watch, Math.min(issued.expiresAtMs - this.#nowMs(), maxTimerMs));
        timer.unref();
      };
      issued.spend = () => end(resolve);
      signal.addEventListener('abort', () => end(() => reject(new Error('the token was withdrawn'))), { once: true });
      watch();
    });
  }
}
