// `manage.ignore`: paths that are neither compared nor written. `*` matches any text, and a path covers all paths below it.
import type { Change } from '../documents/change.ts';
import type { IgnoreRule, JsonObject } from '../documents/document.ts';
import { paints, printable, type Color } from '../text/terminal-text.ts';
import { starPattern } from '../text/star-pattern.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface IgnorePattern {
  readonly rule: IgnoreRule;
  readonly test: (path: string) => boolean;
}
export type IgnorePatterns = readonly IgnorePattern[];

/** A difference that a rule hides: `before` is live, `after` declared. */
export interface IgnoredDifference extends Change {
  readonly rule: IgnoreRule;
}

const none: IgnorePatterns = [];

export function parseIgnore(rules: readonly (IgnoreRule | string)[]): IgnorePatterns {
  if (rules.length === 0) return none;
  return rules.map((item) => {
    const rule = typeof item === 'string' ? { path: item } : item;
    const pattern = starPattern(rule.path, '.*', String.raw`(\.|$)`);
    return { rule, test: (path: string) => pattern.test(path) };
  });
}

export const isIgnored = (patterns: IgnorePatterns, path: string): boolean => patterns.some(({ test }) => test(path));

/** The first rule that covers the path. */
export const ruleFor = (patterns: IgnorePatterns, path: string): IgnoreRule | undefined =>
  patterns.find(({ test }) => test(path))?.rule;

/** `until 2030-12-31, load test`; empty for a rule without either. */
export const describeRule = ({ until, reason }: IgnoreRule): string =>
  printable([until === undefined ? '' : `until ${until}`, reason ?? ''].filter((word) => word !== '').join(', '));

export interface IgnoredLine {
  readonly address: string;
  readonly path: string;
  /** `is "2", declared "4"`, secrets masked. */
  readonly sides: string;
  readonly rule: IgnoreRule;
}

const maxLines = 20;

/** A separate block at the end of plans and reports; empty without lines. */
export function ignoredBlock(lines: readonly IgnoredLine[], options: { readonly color: Color }): readonly string[] {
  if (lines.length === 0) return [];
  const paint = paints(options.color);
  const shown = lines.slice(0, maxLines).map(({ address, path, sides, rule }) => {
    const why = describeRule(rule);
    return `      ${printable(address)}${path === '' ? '' : ` ${printable(path)}`}: ${sides}${why === '' ? '' : `  # ${why}`}`;
  });
  const more = lines.length > maxLines ? [`      and ${lines.length - maxLines} more`] : [];
  return [paint.dim(['. ignored differences:', ...shown, ...more].join('\n'))];
}

/** For reports in JSON. */
export const ruleJson = ({ path, until, reason }: IgnoreRule): JsonObject => ({
  rule: path,
  ...withoutUndefined({ until, reason }),
});
