// Long lists: the same members as an array would have, in parts between which other work runs.
import { describe, expect, test } from 'vitest';
import { isLong, LongList } from '../../../server/lib/shared/long-list.ts';

const numbers = Array.from({ length: 2_600 }, (_, index) => index);

describe('a long list', () => {
  test('has all members in order, changed and chosen', async () => {
    expect(isLong(numbers)).toBe(true);
    const doubled = LongList.of(numbers, (number) => Promise.resolve(number * 2)).map((number) => String(number));
    expect(await doubled.whole()).toEqual(numbers.map((number) => String(number * 2)));
    expect(await doubled.filter((text) => text.endsWith('8'))).toHaveLength(520);
    expect(await LongList.of([], String).whole()).toEqual([]);
  });

  test('lets other work run between its parts, and makes a member only in its part', async () => {
    let [made, turns] = [0, 0];
    let isRead = false;
    const count = (): void => {
      turns += 1;
      if (!isRead) setImmediate(count);
    };
    setImmediate(count);
    const list = LongList.of(numbers, () => (made += 1));
    const seen: number[] = [];
    for await (const part of list.parts()) seen.push(part.length, made);
    isRead = true;
    expect(seen.slice(0, 4)).toEqual([250, 250, 250, 500]);
    expect(made).toBe(numbers.length);
    expect(turns).toBeGreaterThanOrEqual(10);
  });

  test('rejects with the failure of a member', async () => {
    const list = LongList.of(numbers, (number) => (number === 2_500 ? Promise.reject(new Error('gone')) : number));
    await expect(list.whole()).rejects.toThrow('gone');
  });
});
