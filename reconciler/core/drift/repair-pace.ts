// When a continuous reconciler may repair drift: within its windows, and with growing pauses while another user keeps reverting
// the repair. Pure: the caller passes the time.

/** Minutes of a day, UTC; an end before its start is on the next day. */
export interface Window {
  readonly fromMinute: number;
  readonly toMinute: number;
}

/** `22:00-06:00`; undefined when the text is not a window. */
export function parseWindow(text: string): Window | undefined {
  const match = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)$/.exec(text);
  if (match === null) return undefined;
  const [from = 0, fromRest = 0, to = 0, toRest = 0] = match.slice(1).map(Number);
  const window = { fromMinute: from * 60 + fromRest, toMinute: to * 60 + toRest };
  return window.fromMinute === window.toMinute || window.toMinute > 1440 ? undefined : window;
}

const dayMinutes = 1440;

/** Time until a window opens, in ms; 0: a window is open, or there are none. */
export function untilOpenMs(windows: readonly Window[], nowMs: number): number {
  if (windows.length === 0) return 0;
  const minute = (nowMs / 60_000) % dayMinutes;
  const waits = windows.map(({ fromMinute, toMinute }) => {
    const length = (toMinute - fromMinute + dayMinutes) % dayMinutes || dayMinutes;
    const since = (minute - fromMinute + dayMinutes) % dayMinutes;
    return since < length ? 0 : dayMinutes - since;
  });
  return Math.ceil(Math.min(...waits) * 60_000);
}

const freeHeals = 3;
const spanMs = 600_000;
const firstRestMs = 5000;
const longestRestMs = 300_000;

/** The pause after `heals` (times in ms, oldest first): none at first, then longer each time. */
export function repairPauseMs(heals: readonly number[], nowMs: number): number {
  const recent = heals.filter((atMs) => nowMs - atMs < spanMs);
  const last = recent.at(-1);
  if (last === undefined || recent.length < freeHeals) return 0;
  const rest = Math.min(longestRestMs, firstRestMs * 2 ** (recent.length - freeHeals));
  return Math.max(0, last + rest - nowMs);
}
