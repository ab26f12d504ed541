// Decides when a set may make changes: within an allowed window and outside all denied ones. Pure: the caller passes the time.
import { isDue, parseSchedule, type Minute } from '../../../server/api/container/snapshot-schedule.ts';
import type { Window, Windows } from '../config/config.ts';

const minuteMs = 60_000;
const dayMinutes = 1440;
const halfHourMs = 1_800_000;
/** Long enough to find monthly windows. */
const horizonMs = 32 * 86_400_000;

/** `22:00-06:00`, every day by UTC; undefined when the text is not such a time. */
export function dailyWindow(text: string): Window | undefined {
  const match = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)$/.exec(text);
  const [hour = 0, minute = 0, toHour = 0, toMinute = 0] = (match ?? []).slice(1).map(Number);
  const [from, to] = [hour * 60 + minute, toHour * 60 + toMinute];
  const schedule = parseSchedule(`${minute} ${hour} * * *`);
  if (match === null || from === to || to > dayMinutes || typeof schedule === 'string') return undefined;
  return { schedule, durationMs: ((to - from + dayMinutes) % dayMinutes || dayMinutes) * minuteMs, timezone: 'UTC' };
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** 0: open now; Infinity: not within a month. */
export function opensInMs(windows: Windows, nowMs: number): number {
  const { allow, deny } = windows;
  if (allow.length + deny.length === 0) return 0;
  if (isOpen(spansOf(allow, nowMs, nowMs), allow.length === 0, spansOf(deny, nowMs, nowMs), nowMs)) return 0;
  const allowed = spansOf(allow, nowMs, nowMs + horizonMs);
  const denied = spansOf(deny, nowMs, nowMs + horizonMs);
  const times = [...allowed.map(({ fromMs }) => fromMs), ...denied.map(({ toMs }) => toMs)];
  const found = times
    .filter((ms) => ms > nowMs)
    .sort((a, b) => a - b)
    .find((ms) => isOpen(allowed, allow.length === 0, denied, ms));
  return found === undefined ? Number.POSITIVE_INFINITY : found - nowMs;
}

const isOpen = (allowed: readonly Span[], isAlwaysAllowed: boolean, denied: readonly Span[], atMs: number): boolean =>
  (isAlwaysAllowed || allowed.some((span) => holds(span, atMs))) && !denied.some((span) => holds(span, atMs));

const holds = ({ fromMs, toMs }: Span, atMs: number): boolean => fromMs <= atMs && atMs < toMs;

/** The spans of the windows that reach into the time between. */
function spansOf(windows: readonly Window[], fromMs: number, toMs: number): readonly Span[] {
  return windows.flatMap(({ schedule, durationMs, timezone }) => {
    const spans: Span[] = [];
    const clock = new WallClock(timezone);
    const first = Math.floor((fromMs - durationMs) / minuteMs) * minuteMs;
    for (let ms = first; ms <= toMs; ms += minuteMs)
      if (clock.minutesAt(ms).some((minute) => isDue(schedule, minute)))
        spans.push({ fromMs: ms, toMs: ms + durationMs });
    return spans;
  });
}

/** The local time of a time zone; looks up its offset twice an hour, since those of Adelaide change between two hours of UTC. */
class WallClock {
  readonly #format: Intl.DateTimeFormat | undefined;
  #halfHour = Number.NaN;
  #offsetMs = 0;

  constructor(timezone: string) {
    this.#format =
      timezone === 'UTC'
        ? undefined
        : new Intl.DateTimeFormat('en', {
            timeZone: timezone,
            hourCycle: 'h23',
            year: 'numeric',
            month: 'numeric',
            day: 'numeric',
            hour: 'numeric',
            minute: 'numeric',
          });
  }

  /** The local minute, after those that a clock set forward just left out. Called for one minute after the other. */
  minutesAt(ms: number): readonly Minute[] {
    const isFirst = Number.isNaN(this.#halfHour);
    const beforeMs = this.#offsetMs;
    const halfHour = Math.floor(ms / halfHourMs);
    if (this.#format !== undefined && halfHour !== this.#halfHour) {
      this.#halfHour = halfHour;
      this.#offsetMs = offsetAt(this.#format, halfHour * halfHourMs);
    }
    const minutes: Minute[] = [];
    const firstMs = isFirst ? this.#offsetMs : Math.min(beforeMs, this.#offsetMs);
    for (let local = ms + firstMs; local <= ms + this.#offsetMs; local += minuteMs) minutes.push(minuteOf(local));
    return minutes;
  }
}

function minuteOf(localMs: number): Minute {
  const date = new Date(localMs);
  return {
    minute: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    dayOfMonth: date.getUTCDate(),
    month: date.getUTCMonth() + 1,
    dayOfWeek: date.getUTCDay(),
  };
}

function offsetAt(format: Intl.DateTimeFormat, ms: number): number {
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute')) - ms;
}
