// Slows down guessing of secrets: the delay of an address doubles with each attempt. Knows no secrets.

export interface AttemptLimits {
  /** Attempts in a row without a delay. */
  readonly free: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** Limit of remembered addresses; beyond it the least recent one is dropped. */
  readonly maxAddresses: number;
}

/** After this long without an attempt the count of an address restarts. */
export const forgetAttemptsMs = 15 * 60_000;

interface History {
  readonly count: number;
  /** Attempts before this time are not checked. */
  readonly nextAt: number;
}

export class Attempts {
  readonly #nowMs: () => number;
  readonly #limits: AttemptLimits;
  /** In the order of their last attempt. */
  readonly #histories = new Map<string, History>();

  constructor(nowMs: () => number, limits: AttemptLimits) {
    this.#nowMs = nowMs;
    this.#limits = limits;
  }

  /** The delay before an attempt from the address may be checked; 0: none. A clock that was set back prolongs no delay. */
  waitMs(address: string): number {
    const waitMs = (this.#histories.get(networkOf(address))?.nextAt ?? 0) - this.#nowMs();
    return waitMs > forgetAttemptsMs ? 0 : Math.max(0, waitMs);
  }

  /** Counts one attempt, which is checked after `delayMs`. */
  count(address: string, delayMs = 0): void {
    const { free, firstDelayMs, maxDelayMs, maxAddresses } = this.#limits;
    const network = networkOf(address);
    const known = this.#histories.get(network);
    const isOld = known === undefined || this.#nowMs() - known.nextAt > forgetAttemptsMs;
    const count = isOld ? 1 : known.count + 1;
    const pauseMs = count < free ? 0 : Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(count - free, 30));
    this.#histories.delete(network);
    this.#histories.set(network, { count, nextAt: this.#nowMs() + delayMs + pauseMs });
    const [oldest] = this.#histories.keys();
    if (this.#histories.size > maxAddresses && oldest !== undefined) this.#histories.delete(oldest);
  }

  /** The secret was right: the count of the address restarts. */
  succeeded(address: string): void {
    this.#histories.delete(networkOf(address));
  }

  get size(): number {
    return this.#histories.size;
  }
}

/** The unit of counting: an IPv6 host can use a whole /64, and an IPv4-mapped IPv6 address is the same host. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=[0-9.]+$)/i, '');
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const rest = (tail ?? '').split(':').filter((group) => group !== '');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - rest.length);
  return [...groups, ...Array.from({ length: zeros }, () => '0'), ...rest].slice(0, 4).join(':');
}
