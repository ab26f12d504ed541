// Query parameters as requests have them.
import { expect, test } from 'vitest';
import { recursionOf } from '../../../server/api/text/recursion.ts';
import { queryOf } from '../../../server/http/query.ts';

test.each([
  ['', {}],
  ['a=1&b=x%20y+z', { a: '1', b: 'x y z' }],
  ['a=1&b=2&a=3', { a: '1', b: '2' }],
  ['a=&a=3', { a: '' }],
  ['a', { a: '' }],
  ['a=100%', { a: '100%' }],
  [
    'constructor=1&__proto__=2',
    Object.fromEntries([
      ['constructor', '1'],
      ['__proto__', '2'],
    ]),
  ],
])('the query "%s" has the first value of each parameter', (text, expected) => {
  expect(Object.entries(queryOf(text))).toEqual(Object.entries(expected));
});

test('parameters after the first thousand count, too', () => {
  expect(queryOf(`${'a&'.repeat(1100)}all-projects=true`)['all-projects']).toBe('true');
});

test('a query has no parameters that were not sent', () => {
  expect(queryOf('a=1')['constructor']).toBeUndefined();
});

test.each([
  ['0', 0],
  ['1', 1],
  ['+2', 2],
  ['-1', 1],
  ['', 0],
  ['no', 0],
  ['1abc', 0],
  ['1.0', 0],
  ['0x1', 0],
  ['1 ', 0],
  ['9'.repeat(30), 0],
])('recursion=%s counts as %i', (recursion, expected) => {
  expect(recursionOf({ recursion })).toBe(expected);
});
