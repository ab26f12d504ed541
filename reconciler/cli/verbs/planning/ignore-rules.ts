// The rules of `gantry drift --ignore`. Wrong ones are usage errors.
import type { IgnoreRule } from '../../../core/documents/document.ts';
import { endOf } from '../../../manifest/documents/read-ignore.ts';
import type { Output } from '../../session/context.ts';
import { usageError } from '../../errors/usage-error.ts';

/** `PATTERN`, or `PATTERN@2026-12-31` for as long as that day lasts (UTC). */
export function ignoreRules(context: Output, rules: readonly string[] = []): readonly IgnoreRule[] {
  return rules.flatMap((rule) => {
    const match = /^(.+)@([^@]*)$/.exec(rule);
    if (match === null) return [{ path: rule }];
    const [, path = '', until = ''] = match;
    const endMs = endOf(until);
    if (endMs === undefined)
      throw usageError(
        `--ignore ${JSON.stringify(rule)}: write the last day of the rule after the @, as in ${path}@2030-12-31`,
      );
    if (context.io.nowMs() <= endMs) return [{ path, until }];
    context.note(`Warning: --ignore ${path} ended on ${until}: it no longer hides anything`);
    return [];
  });
}
