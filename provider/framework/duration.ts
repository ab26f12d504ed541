// Durations as people write them in Terraform: 90s, 5m, 1h30m.
import { durationMs } from '../../server/api/text/durations.ts';

/** Milliseconds; undefined when the text is no duration, is empty or, unlike elsewhere, has no unit: a number could be of any in Terraform. */
export function parseDuration(written: string): number | undefined {
  if (/^\d*$/.test(written)) return undefined;
  const foundMs = durationMs(written) ?? 0;
  return foundMs > 0 ? foundMs : undefined;
}

export const durationCheck = (written: string): string | undefined =>
  parseDuration(written) === undefined ? 'must be a duration such as 90s, 5m or 1h30m, longer than zero' : undefined;
