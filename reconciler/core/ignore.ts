// `manage.ignore`: paths that are neither compared nor written. `*` stands for any text, a path covers what is below it.

export type IgnorePatterns = readonly RegExp[];

const none: IgnorePatterns = [];

export function parseIgnore(patterns: readonly string[]): IgnorePatterns {
  if (patterns.length === 0) return none;
  return patterns.map((pattern) => {
    const source = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
    return new RegExp(`^${source.join('.*')}(\\.|$)`);
  });
}

export const isIgnored = (patterns: IgnorePatterns, path: string): boolean => patterns.some((rule) => rule.test(path));
