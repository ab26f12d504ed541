// The count of values before each parsing of JSON: it refuses by number and depth, and ignores the contents of texts.
import { expect, test } from 'vitest';
import { hasProto, shapeProblem } from '../../../server/lib/json-shape.ts';

const check = (text: string): string | undefined => shapeProblem(Buffer.from(text), { maxDepth: 3, maxValues: 6 });

test.each(['{"a":[{"b":1}]}', '"[[[[[[[[,,,,,,,,,,"', '{"\\"[[[[":"\\\\"}', '[1,2,3,4,5]', '', '}}}}'])(
  '%s is small enough',
  (text) => expect(check(text)).toBeUndefined(),
);

test.each([
  ['[[[[', 'is nested deeper than 3 levels'],
  ['[1,2,3,4,5,6,7]', 'has more than 6 values'],
  ['{"a":1,"b":2,"c":3,"d":4}', 'has more than 6 values'],
  ['{"\\\\":[[[', 'is nested deeper than 3 levels'],
])('%s %s', (text, problem) => expect(check(text)).toBe(problem));

test('a member named __proto__ is found at any depth, in any spelling', () => {
  expect(hasProto(JSON.parse('{"a":[{"\\u005f_proto__":1}]}'))).toBe(true);
  expect(hasProto(JSON.parse('{"a":["__proto__"]}'))).toBe(false);
});
