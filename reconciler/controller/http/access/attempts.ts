// Slows down guessing of tokens: after some failures an address is refused for a time that doubles. Pure but for its memory.

export interface AttemptLimits {
  /** Failures in a row without a pause. */
  readonly free: number;
  readonly firstMs: number;
  readonly longestMs: number;
  /** Limit of remembered addresses; beyond it the least recent one is dropped. */
  readonly maxAddresses: number;
}

export const attemptLimits: AttemptLimits = { free: 5, firstMs: 1000, longestMs: 60_000, maxAddresses: 4096 };

interface Failures {
  readonly count: number;
  readonly untilMs: number;
}

export class Attempts {
  readonly #nowMs: () => number;
  readonly #limits: AttemptLimits;
  /** In the order of their last failure. */
  readonly #failures = new Map<string, Failures>();

  constructor(nowMs: () => number, limits: AttemptLimits = attemptLimits) {
    this.#nowMs = nowMs;
    this.#limits = limits;
  }

  /** How long attempts from the address are still refused; 0: not at all. */
  refusedForMs(address: string): number {
    return Math.max(0, (this.#failures.get(sourceOf(address))?.untilMs ?? 0) - this.#nowMs());
  }

  failed(address: string): void {
    const { free, firstMs, longestMs, maxAddresses } = this.#limits;
    const source = sourceOf(address);
    const before = this.#failures.get(source);
    const isOld = before === undefined || this.#nowMs() - before.untilMs > 15 * 60_000;
    const count = isOld ? 1 : before.count + 1;
    const pauseMs = count < free ? 0 : Math.min(longestMs, firstMs * 2 ** Math.min(count - free, 20));
    this.#failures.delete(source);
    this.#failures.set(source, { count, untilMs: this.#nowMs() + pauseMs });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > maxAddresses && oldest !== undefined) this.#failures.delete(oldest);
  }

  succeeded(address: string): void {
    this.#failures.delete(sourceOf(address));
  }

  get size(): number {
    return this.#failures.size;
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
