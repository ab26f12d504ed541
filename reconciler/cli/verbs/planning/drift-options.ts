// What `gantry drift` is told: which format, what to pass over, how long to watch. Wrong flags are usage errors.
import type { IgnoreRule } from '../../../core/documents/document.ts';
import { endOf } from '../../../manifest/documents/read-ignore.ts';
import type { CliContext } from '../../session/context.ts';
import type { CliOptions } from '../../flags/options.ts';
import { usageError } from '../../errors/usage-error.ts';

export interface DriftCommandOptions extends CliOptions {
  readonly ignore?: readonly string[];
  readonly exitCode?: boolean;
  readonly watch?: boolean;
  readonly interval?: string;
  readonly for?: string;
}

export const driftFormats = ['text', 'json', 'markdown'] as const;
export type DriftFormat = (typeof driftFormats)[number];

export function driftFormatOf({ output = 'text' }: CliOptions): DriftFormat {
  const format = driftFormats.find((one) => one === output);
  if (format === undefined)
    throw usageError(`--output ${JSON.stringify(output)} is none of ${driftFormats.join(', ')}`);
  return format;
}

/** `PATTERN`, or `PATTERN@2026-12-31` for as long as that day lasts (UTC). */
export function ignoreRules(context: CliContext, rules: readonly string[] = []): readonly IgnoreRule[] {
  return rules.flatMap((rule) => {
    const match = /^(.+)@([^@]*)$/.exec(rule);
    if (match === null) return [{ path: rule }];
    const [, path = '', until = ''] = match;
    const endMs = endOf(until);
    if (endMs === undefined)
      throw usageError(`--ignore ${JSON.stringify(rule)}: after the @ stands its last day, as in ${path}@2030-12-31`);
    if (context.io.nowMs() <= endMs) return [{ path, until }];
    context.note(`Warning: --ignore ${path} ended on ${until}: it no longer hides anything`);
    return [];
  });
}
