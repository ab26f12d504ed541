// Slows down guessing of the trust password: computes the moment at which the next attempt may be checked. Knows no passwords.

export interface AttemptLimits {
  /** Attempts in a row without a delay. */
  readonly free: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** A longer wait is refused at once, so that waiting requests do not pile up. */
  readonly maxWaitMs: number;
  /** After this long without an attempt the count of an address starts again. */
  readonly forgetMs: number;
  /** Limit of remembered addresses; beyond it the least recent one is dropped. */
  readonly maxAddresses: number;
}

export const attemptLimits: AttemptLimits = {
  free: 3,
  firstDelayMs: 500,
  maxDelayMs: 30_000,
  maxWaitMs: 5_000,
  forgetMs: 15 * 60_000,
  maxAddresses: 1024,
};

interface History {
  readonly attempts: number;
  /** The next attempt is not checked before this time. */
  readonly nextAt: number;
}

export type Admission = { readonly waitMs: number } | { readonly refusedForMs: number };

/** Exists as long as the daemon. Every attempt counts when it is made, so parallel ones gain nothing; success clears the count. */
export class PasswordAttempts {
  readonly #limits: AttemptLimits;
  readonly #now: () => number;
  /** In the order of their last attempt. */
  readonly #histories = new Map<string, History>();

  constructor(now: () => number, limits: AttemptLimits = attemptLimits) {
    this.#now = now;
    this.#limits = limits;
  }

  /** The delay before an attempt from the address is checked, or the time during which attempts are refused. */
  admit(address: string): Admission {
    const { free, firstDelayMs, maxDelayMs, maxWaitMs, forgetMs, maxAddresses } = this.#limits;
    const now = this.#now();
    const source = sourceOf(address);
    const known = this.#histories.get(source);
    const history = known === undefined || now - known.nextAt > forgetMs ? { attempts: 0, nextAt: now } : known;
    const waitMs = Math.max(0, history.nextAt - now);
    if (waitMs > maxWaitMs) return { refusedForMs: waitMs };
    const attempts = history.attempts + 1;
    const delay = attempts < free ? 0 : Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(attempts - free, 30));
    this.#histories.delete(source);
    this.#histories.set(source, { attempts, nextAt: now + waitMs + delay });
    if (this.#histories.size > maxAddresses) {
      const [oldest] = this.#histories.keys();
      if (oldest !== undefined) this.#histories.delete(oldest);
    }
    return { waitMs };
  }

  /** The password was right. */
  succeeded(address: string): void {
    this.#histories.delete(sourceOf(address));
  }

  get size(): number {
    return this.#histories.size;
  }
}

/** One IPv6 host can use a whole /64; an IPv4-mapped IPv6 address is the same host. */
function sourceOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=[0-9.]+$)/i, '');
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const rest = (tail ?? '').split(':').filter((group) => group !== '');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - rest.length);
  return [...groups, ...Array.from({ length: zeros }, () => '0'), ...rest].slice(0, 4).join(':');
}
