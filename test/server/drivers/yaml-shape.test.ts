// The limits of YAML are checked on its tokens, and never refuse a value within them.
import { array, assert, dictionary, jsonValue, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { yamlShapeProblem } from '../../../server/drivers/image/yaml-shape.ts';
import { yamlBodies } from '../../support/hostile/files.ts';

const shape = { maxDepth: 64, maxValues: 30_000 };
const small = { maxDepth: 3, maxValues: 4 };

describe('text of YAML', () => {
  test.each([
    ['[[[[', 'is nested deeper than 3 levels'],
    ['[[[]]]', undefined],
    ['{a: {b: {c: {', 'is nested deeper than 3 levels'],
    ['[[], [], [], []]', undefined],
    ['- - - - a', 'is nested deeper than 3 levels'],
    ['- a\n- b\n- c\n- d\n', undefined],
    ['? ? ? ? a', 'is nested deeper than 3 levels'],
    ['a: b: c: d: e', 'is nested deeper than 3 levels'],
    ['{a: 1, b: 1, c: 1, d: 1}', undefined],
    ['"[[[["', undefined],
    ['a: |\n  [[[[\n', undefined],
    ['a: |\n  - - - - a\n', undefined],
    ['# [[[[\na: 1', undefined],
    ['[a, b, c, d, e, f, g, h, i]', 'has more than 4 values'],
    ['[a, b, "c", d]', undefined],
  ])('%s: %s', (text, problem) => expect(yamlShapeProblem(text, small)).toBe(problem));

  test.each([
    ['lists in lists', 'is nested deeper than 64 levels'],
    ['maps in maps', 'is nested deeper than 64 levels'],
    ['dashes in dashes', 'is nested deeper than 64 levels'],
    ['many colons', 'is nested deeper than 64 levels'],
    ['question marks', 'is nested deeper than 64 levels'],
    ['80,000 keys', 'has more than 30000 values'],
    ['many tags', 'has more than 30000 values'],
  ])('of a megabyte with %s is refused', (what, problem) =>
    expect(yamlShapeProblem(yamlBodies[what] ?? '', shape)).toBe(problem),
  );

  test('whose value keeps within the limits is not refused, in either style', () => {
    const value = jsonValue({ maxDepth: 5 });
    const values = array(dictionary(string(), value), { maxLength: 5 });
    assert(
      property(values, (many) => {
        for (const collectionStyle of ['block', 'flow'] as const)
          expect(yamlShapeProblem(stringify(many, { collectionStyle }), { maxDepth: 8, maxValues: 100_000 })).toBe(
            undefined,
          );
      }),
    );
  });
});
