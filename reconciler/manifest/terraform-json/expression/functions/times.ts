// Functions of times: timestamps (RFC 3339), durations as Go writes them, formats in letters.
import { ConversionError } from '../values.ts';
import { text } from './arguments.ts';
import type { FunctionRow } from './function-row.ts';

interface Moment {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** Nanoseconds. */
  readonly nanos: number;
  /** Minutes east of UTC; undefined: Z. */
  readonly offset: number | undefined;
}

const written = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9})\d*)?(?:(Z)|([+-])(\d{2}):(\d{2}))$/;

function read(source: string): Moment {
  const match = written.exec(source);
  if (match === null)
    throw new ConversionError(`${JSON.stringify(source)} is no timestamp such as 2030-01-31T12:00:00Z`);
  const part = (at: number): number => Number(match[at] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  const days = new Date(utc(year, month + 1, 0)).getUTCDate();
  const isThere = month >= 1 && month <= 12 && day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60;
  if (!isThere || part(10) > 24 || part(11) > 59) throw new ConversionError(`${source} is no time that there is`);
  const offset = match[8] === 'Z' ? undefined : (match[9] === '-' ? -1 : 1) * (part(10) * 60 + part(11));
  return { year, month, day, hour, minute, second, nanos: Number((match[7] ?? '').padEnd(9, '0')), offset };
}

const secondsOf = (at: Moment): number =>
  utc(at.year, at.month, at.day) / 1000 + at.hour * 3600 + at.minute * 60 + at.second - (at.offset ?? 0) * 60;

/** `Date.UTC` reads years before 100 as years of the last century. The zero time of servers is in the year 1. */
function utc(year: number, month: number, day: number): number {
  const date = new Date(0);
  return date.setUTCFullYear(year, month - 1, day);
}

function compare(a: string, b: string): number {
  const [x, y] = [read(a), read(b)];
  return Math.sign(secondsOf(x) - secondsOf(y)) || Math.sign(x.nanos - y.nanos);
}

const units: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 6e10,
  h: 3.6e12,
};

/** Nanoseconds of `1h30m`, `-1.5s`. */
function durationOf(source: string): bigint {
  const [, sign, rest = ''] = /^([+-]?)(.*)$/.exec(source) ?? [];
  if (rest === '0') return 0n;
  const parts = [...rest.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)];
  if (rest === '' || parts.map(([whole]) => whole).join('') !== rest)
    throw new ConversionError(`${JSON.stringify(source)} is no duration such as 1h30m or -10s`);
  let total = 0n;
  for (const [, amount = '', unit = ''] of parts) {
    const [whole = '', fraction = ''] = amount.split('.');
    const scale = BigInt(units[unit] ?? 0);
    total += BigInt(whole === '' ? '0' : whole) * scale;
    if (fraction !== '') total += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
  }
  return sign === '-' ? -total : total;
}

const pad = (value: number, width = 2): string => String(value).padStart(width, '0');

function offsetText(minutes: number, separator: string): string {
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}${separator}${pad(size % 60)}`;
}

function add(source: string, duration: string): string {
  const at = read(source);
  const nanos = BigInt(secondsOf(at)) * 1_000_000_000n + BigInt(at.nanos) + durationOf(duration);
  const rest = ((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const seconds = Number((nanos - rest) / 1_000_000_000n);
  const local = new Date((seconds + (at.offset ?? 0) * 60) * 1000);
  const year = local.getUTCFullYear();
  if (!(year >= 0 && year <= 9999)) throw new ConversionError('the time is too far away');
  // Written without fractions of a second.
  const zone = at.offset === undefined || at.offset === 0 ? 'Z' : offsetText(at.offset, ':');
  return `${local.toISOString().slice(0, 19)}${zone}`;
}

const months = 'January February March April May June July August September October November December'.split(' ');
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

const letters: Readonly<Record<string, (at: Moment) => string>> = {
  YYYY: ({ year }) => pad(year, 4),
  YY: ({ year }) => pad(year % 100),
  MMMM: ({ month }) => months[month - 1] ?? '',
  MMM: ({ month }) => (months[month - 1] ?? '').slice(0, 3),
  MM: ({ month }) => pad(month),
  M: ({ month }) => String(month),
  DD: ({ day }) => pad(day),
  D: ({ day }) => String(day),
  EEEE: (at) => weekday(at),
  EEE: (at) => weekday(at).slice(0, 3),
  hh: ({ hour }) => pad(hour),
  h: ({ hour }) => String(hour),
  HH: ({ hour }) => pad(hour % 12 || 12),
  H: ({ hour }) => String(hour % 12 || 12),
  AA: ({ hour }) => (hour < 12 ? 'AM' : 'PM'),
  aa: ({ hour }) => (hour < 12 ? 'am' : 'pm'),
  mm: ({ minute }) => pad(minute),
  m: ({ minute }) => String(minute),
  ss: ({ second }) => pad(second),
  s: ({ second }) => String(second),
  ZZZZZ: ({ offset = 0 }) => offsetText(offset, ':'),
  ZZZZ: ({ offset = 0 }) => offsetText(offset, ''),
  ZZZ: ({ offset = 0 }) => (offset === 0 ? 'UTC' : offsetText(offset, '')),
  Z: ({ offset = 0 }) => (offset === 0 ? 'Z' : offsetText(offset, ':')),
};

const weekday = ({ year, month, day }: Moment): string => days[new Date(utc(year, month, day)).getUTCDay()] ?? '';

/** Letters are verbs, one for each run of the same; texts in single quotes are not. */
function format(pattern: string, source: string): string {
  const at = read(source);
  return pattern.replaceAll(/''|'((?:[^']|'')*)('?)|([A-Za-z])\3*/g, (run, quoted?: string, end?: string) => {
    if (run === "''") return "'";
    if (quoted !== undefined) {
      if (end !== "'") throw new ConversionError("unterminated literal '");
      return quoted.replaceAll("''", "'");
    }
    const verb = Object.hasOwn(letters, run) ? letters[run] : undefined;
    if (verb === undefined) throw new ConversionError(`invalid date format verb ${JSON.stringify(run)}`);
    return verb(at);
  });
}

export const times: Readonly<Record<string, FunctionRow>> = {
  formatdate: { least: 2, max: 2, run: (args) => format(text(args, 0), text(args, 1)) },
  timeadd: { least: 2, max: 2, run: (args) => add(text(args, 0), text(args, 1)) },
  timecmp: { least: 2, max: 2, run: (args) => compare(text(args, 0), text(args, 1)) },
};
