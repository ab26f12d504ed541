// Relative times such as "3 min ago", with the exact time as a tooltip; all of them update together.
import { signal } from '@preact/signals';

export const now = signal(Date.now());

export function startClock(): void {
  setInterval(() => (now.value = Date.now()), 10_000);
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const day = new Intl.DateTimeFormat('en', { weekday: 'short', month: 'short', day: 'numeric' });

const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
  ['month', 12],
];

export function agoText(at: string, from: number): string {
  let amount = (Date.parse(at) - from) / 1000;
  if (!Number.isFinite(amount)) return at;
  if (Math.abs(amount) < 10) return 'now';
  for (const [unit, size] of steps) {
    if (Math.abs(amount) < size) return relative.format(Math.round(amount), unit);
    amount /= size;
  }
  return relative.format(Math.round(amount), 'year');
}

export const exactText = (at: string): string => formatted(exact, at);
export const clockText = (at: string): string => formatted(clock, at);
export const dayText = (at: string): string => formatted(day, at);

const formatted = (format: Intl.DateTimeFormat, at: string): string =>
  Number.isNaN(Date.parse(at)) ? at : format.format(new Date(at));

export function Ago({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={exactText(at)}>
      {agoText(at, now.value)}
    </time>
  );
}

/** How long something took or takes. */
export function tookText(from: string, to: string | undefined): string {
  const seconds = Math.max(0, ((to === undefined ? now.value : Date.parse(to)) - Date.parse(from)) / 1000);
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}
