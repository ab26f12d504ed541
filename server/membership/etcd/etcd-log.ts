// Reads etcd's log: lines of JSON, and the reason why it ended. Pure.
import type { Log } from '../../lib/log.ts';

export interface EtcdLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  /** The message without details: similar lines may come by the hundred. */
  readonly kind: string;
}

const levels: Readonly<Record<string, EtcdLine['level']>> = {
  // etcd logs every step of an election as info; what matters is a warning.
  info: 'debug',
  debug: 'debug',
  warn: 'warn',
  error: 'error',
  panic: 'error',
  fatal: 'error',
};
const longestMessage = 1_000;

/** Lines that are not JSON come from etcd's libraries. */
export function readEtcdLine(line: string): EtcdLine {
  const parsed = parse(line);
  if (parsed === undefined) return { level: 'debug', message: printable(line), kind: '' };
  const { level, msg, error, ts: _ts, caller: _caller, stacktrace: _stack, ...rest } = parsed;
  const details = Object.entries(rest).map(([key, value]) => `${key} ${textOf(value)}`);
  const text = [msg, ...(error === undefined ? [] : [error])].map(textOf).join(': ');
  const message = details.length === 0 ? text : `${text} (${details.join(', ')})`;
  return { level: levels[String(level)] ?? 'info', message: printable(message), kind: textOf(msg) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Irrelevant where all clients have certificates. */
const noise: ReadonlySet<string> = new Set(['simple token is not cryptographically signed']);
const repeatMs = 60_000;

/** Forwards lines; one that repeats within a minute is logged at debug level. */
export class EtcdLog {
  readonly #log: Log;
  readonly #seenAt = new Map<string, number>();

  constructor(log: Log) {
    this.#log = log;
  }

  write({ level, message, kind }: EtcdLine, nowMs: number): void {
    const isRepeated = noise.has(kind) || nowMs - (this.#seenAt.get(kind) ?? Number.NEGATIVE_INFINITY) < repeatMs;
    if (!isRepeated) this.#seenAt.set(kind, nowMs);
    this.#log[isRepeated ? 'debug' : level](`etcd: ${message}`);
  }
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const found: unknown = JSON.parse(line);
    return typeof found === 'object' && found !== null && 'msg' in found ? { ...found } : undefined;
  } catch {
    return undefined;
  }
}

const printable = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, longestMessage);

export interface EndReason {
  readonly text: string;
  /** A restart cannot help. */
  readonly isFinal: boolean;
}

const removed = /server error: the member has been permanently removed|^the member has been permanently removed/;

const reasons: readonly { readonly pattern: RegExp; readonly text: string; readonly isFinal?: true }[] = [
  { pattern: /no space left on device/, text: 'the disk of its data is full: make room, it then starts by itself' },
  { pattern: /address already in use/, text: 'another program listens at its address' },
  { pattern: /cannot assign requested address/, text: 'this host does not have its address' },
  {
    pattern:
      /crc mismatch|file is corrupt|database file.*corrupt|invalid database|checksum error|found data inconsistency/i,
    text: 'its data is damaged: remove this member from the cluster and add it again',
    isFinal: true,
  },
  {
    pattern:
      /member count is unequal|has already been bootstrapped|unmatched member while checking PeerURLs|cluster ID mismatch/i,
    text: 'the cluster does not expect it: remove it from the cluster and add it again',
    isFinal: true,
  },
  { pattern: /permission denied/, text: 'it may not read or write its data or its certificates' },
  { pattern: /tls: |x509: /, text: 'a certificate is wrong: see its log' },
];

/** `lines`: the last ones of the log. */
export function endReason(code: number | null, signal: string | null, lines: readonly EtcdLine[]): EndReason {
  if (lines.some(({ message }) => removed.test(message)))
    return { text: 'it was removed from the cluster: remove its data before this host joins again', isFinal: true };
  const serious = lines.filter(({ level }) => level === 'error').map(({ message }) => message);
  for (const { pattern, text, isFinal } of reasons) {
    if (serious.some((message) => pattern.test(message))) return { text, isFinal: isFinal === true };
  }
  if (signal !== null) return { text: `it was killed by ${signal}`, isFinal: false };
  const last = serious.at(-1) ?? lines.at(-1)?.message ?? 'without a word';
  return { text: `it ended with code ${code}: ${last}`, isFinal: false };
}
