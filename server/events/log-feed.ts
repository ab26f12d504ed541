// Sends the daemon's log lines to listeners as `logging` events: without secrets, in a limited number, and never in reaction to itself.
import type { Clock } from '../lib/clock.ts';
import { writesDebug, type Log, type LogContext } from '../lib/log.ts';
import { withoutSecrets } from '../lib/shared/without-secrets.ts';
import type { EventHub } from './hub.ts';

type Level = 'debug' | 'info' | 'warning' | 'error';

/** The rate for each class of lines: those of requests must not displace warnings. */
const linesPerSecond = 100;
const burst = 500;

/** The number of lines that may be sent, refilled over time. */
class Allowance {
  #lines = burst;
  #atMs: number;
  /** Lines dropped since the last one sent. */
  #dropped = 0;

  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  /** How many lines were dropped before this one; undefined: this one is dropped, too. */
  take(nowMs: number): number | undefined {
    this.#lines = Math.min(burst, this.#lines + (Math.max(0, nowMs - this.#atMs) / 1000) * linesPerSecond);
    this.#atMs = nowMs;
    if (this.#lines < 1) {
      this.#dropped += 1;
      return undefined;
    }
    this.#lines -= 1;
    const dropped = this.#dropped;
    this.#dropped = 0;
    return dropped;
  }
}

export class LogFeed {
  readonly #hub: EventHub;
  readonly #clock: Clock;
  readonly #debug: Allowance;
  readonly #other: Allowance;
  #isSending = false;

  constructor(hub: EventHub, clock: Clock) {
    this.#hub = hub;
    this.#clock = clock;
    this.#debug = new Allowance(clock.nowMs());
    this.#other = new Allowance(clock.nowMs());
  }

  isHeard(): boolean {
    return this.#hub.hasListener('logging');
  }

  send(level: Level, message: string, context: LogContext): void {
    // A line caused by sending would cause the next one.
    if (this.#isSending || !this.isHeard()) return;
    const dropped = (level === 'debug' ? this.#debug : this.#other).take(this.#clock.nowMs());
    if (dropped === undefined) return;
    this.#isSending = true;
    try {
      if (dropped > 0) this.#publish('warning', `${dropped} log lines were left out: too many at once`, {});
      this.#publish(level, message, context);
    } finally {
      this.#isSending = false;
    }
  }

  #publish(level: Level, message: string, context: LogContext): void {
    const texts = Object.entries(context).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, String(value)]],
    );
    this.#hub.logging({ level, message, context: Object.fromEntries(texts) });
  }
}

/** The same log, whose lines also go to the listeners. Neither contains secrets. */
export function feedingLog(log: Log, feed: LogFeed): Log {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error', shown: Level) =>
    (message: string, context: LogContext = {}): void => {
      const [text, facts] = [withoutSecrets(message), factsWithoutSecrets(context)];
      log[level](text, facts);
      feed.send(shown, text, facts);
    };
  return {
    debug: write('debug', 'debug'),
    info: write('info', 'info'),
    warn: write('warn', 'warning'),
    error: write('error', 'error'),
    writesDebug: () => writesDebug(log) || feed.isHeard(),
  };
}

function factsWithoutSecrets(context: LogContext): LogContext {
  const entries = Object.entries(context);
  const clean = entries.map(
    ([key, value]) => [key, typeof value === 'string' ? withoutSecrets(value) : value] as const,
  );
  return clean.some(([, value], index) => value !== entries[index]?.[1]) ? Object.fromEntries(clean) : context;
}
