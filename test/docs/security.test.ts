// SECURITY.md: each of its claims names tests that show it, and these exist.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const page = readFileSync('SECURITY.md', 'utf8');
/** The points of its lists, each with all of its lines. */
const claims = page
  .split(/\n(?=[-#])/)
  .filter((part) => part.startsWith('- '))
  .map((part) => part.replaceAll(/\s+/g, ' ').trim());
const titles = (claim: string): readonly (readonly [file: string, title: string])[] =>
  [...claim.matchAll(/`(test\/[^`]+\.ts)`: ((?:"[^"]+"(?:, )?)+)/g)].flatMap(([, file = '', list = '']) =>
    [...list.matchAll(/"([^"]+)"/g)].map(([, title = '']) => [file, title] as const),
  );
const named = claims.flatMap(titles);

describe('the page about security', () => {
  test('has a test for every claim', () => {
    expect(claims.length).toBeGreaterThan(20);
    expect(claims.filter((claim) => titles(claim).length === 0)).toEqual([]);
  });

  test.each(named)('names a test that %s has: %s', (file, title) => {
    expect(existsSync(file)).toBe(true);
    expect(readFileSync(file, 'utf8').replaceAll(/\s+/g, ' ')).toContain(title);
  });
});
