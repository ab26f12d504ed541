// docs/walk.md names functions that exist, each in the file that it names.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/walk.md'), 'utf8');
const stops = [...page.matchAll(/^\d+\. `(\w+)` in `([^`]+)`/gm)].map((match) => ({
  name: match[1] ?? '',
  path: match[2] ?? '',
}));

describe('docs/walk.md', () => {
  test('names at most twelve functions', () => {
    expect(stops.length).toBeGreaterThan(8);
    expect(stops.length).toBeLessThanOrEqual(12);
  });

  test.each(stops)('$name is a function in $path', ({ name, path }) => {
    const text = readFileSync(join(root, path), 'utf8');
    expect(text).toMatch(new RegExp(`(function|const) ${name}\\b`));
  });

  test('numbers its functions without a gap', () => {
    expect(stops.length).toBe([...page.matchAll(/^\d+\. /gm)].length);
  });
});
