// The line that feeds the guard: converts a deadline from this process's clock to the guard's. Pure but for reading clocks.
import { readFileSync } from 'node:fs';

export interface Feed {
  /** A time on the clock of performance.now(). */
  readonly untilMs: number;
  readonly paths: readonly string[];
}

/** Seconds since the host was booted, including suspension. */
export function bootSeconds(): number {
  return Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
}

/** The deadline on the guard's clock. A pause of this process between the two readings makes it earlier, never later: `bootS` must be read
 *  first. Pure. */
export function guardEnd(untilMs: number, bootS: number, nowMs: number): number {
  return bootS + (untilMs - nowMs) / 1000;
}

/** Throws an Error for a path that would be read as two. */
export function guardLine(number: number, endS: number, paths: readonly string[]): string {
  const odd = paths.find((path) => /[\t\n]/.test(path));
  if (odd !== undefined) throw new Error(`${JSON.stringify(odd)} cannot be guarded`);
  return `${[String(number), endS.toFixed(2), ...paths].join('\t')}\n`;
}
