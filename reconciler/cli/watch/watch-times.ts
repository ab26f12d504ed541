// The interval and the duration of a command that watches hosts: --interval and --for.
import { longestTimerMs } from '../../../server/lib/shared/deadline.ts';
import type { Command } from '../session/context.ts';
import { parseDuration } from '../flags/parse-values.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { CliError, usageError } from '../errors/usage-error.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface WatchTimes {
  readonly intervalMs: number;
  /** --interval was given: it applies regardless of what a comparison costs. */
  readonly isIntervalGiven: boolean;
  readonly limitMs?: number;
}

/** Full comparisons take at most 2 % of a processor, unless the interval would then exceed five minutes. */
const maxOfProcessor = 0.02;
const longestPaceMs = 300_000;

/** The time until the next full comparison; `lookCpuMs` is the processor time of the last one. Between two of them, events
 *  report changes at once. */
export function pacedIntervalMs({ intervalMs, isIntervalGiven }: WatchTimes, lookCpuMs: number): number {
  if (isIntervalGiven) return intervalMs;
  return Math.max(intervalMs, Math.min(longestPaceMs, lookCpuMs / maxOfProcessor));
}

export function timesOf(
  options: { readonly interval?: string | undefined; readonly for?: string | undefined },
  defaultIntervalMs: number,
): WatchTimes {
  const intervalMs = parseDuration('--interval', options.interval) ?? defaultIntervalMs;
  if (intervalMs < 1000)
    throw usageError('--interval must be at least 1s: between two comparisons, events report changes at once');
  const limitMs = parseDuration('--for', options.for);
  return { intervalMs, isIntervalGiven: options.interval !== undefined, ...withoutUndefined({ limitMs }) };
}

/** Aborts at Ctrl-C or when the time is over. */
export function endOf({ stop }: Command, limitMs: number | undefined): AbortSignal {
  if (limitMs === undefined) return stop;
  // AbortSignal.timeout joined with other signals can be garbage-collected before it fires.
  const end = new AbortController();
  const over = (): void => end.abort(new CliError('The time of --for has passed', exitCodes.ok));
  const timer = setTimeout(over, Math.min(limitMs, longestTimerMs));
  const stopped = (): void => {
    clearTimeout(timer);
    end.abort(stop.reason);
  };
  if (stop.aborted) stopped();
  else stop.addEventListener('abort', stopped, { once: true });
  return end.signal;
}
