import { describe, expect, test } from 'vitest';
import { ConcurrencyLimit, mapAtMost } from '../../../server/lib/shared/concurrency-limit.ts';

/** Tasks that end when the test says so. */
function tasks(): {
  readonly begun: string[];
  readonly start: (name: string) => Promise<string>;
  end: (name: string, error?: Error) => Promise<void>;
} {
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  return {
    begun,
    start: (name) =>
      new Promise((resolve, reject) => {
        begun.push(name);
        ends.set(name, (error) => (error === undefined ? resolve(name.toUpperCase()) : reject(error)));
      }),
    end: async (name, error) => {
      ends.get(name)?.(error);
      await new Promise(setImmediate);
    },
  };
}

describe('concurrency limit', () => {
  test('tasks wait in order of arrival, and a failed one makes room', async () => {
    const { begun, start, end } = tasks();
    const limit = new ConcurrencyLimit(2);
    const all = Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => limit.run(() => start(name))));
    expect(begun).toEqual(['a', 'b']);
    await end('b', new Error('broken'));
    expect(begun).toEqual(['a', 'b', 'c']);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    await end('d');
    await end('c');
    expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(await limit.run(() => Promise.resolve(1))).toBe(1);
  });

  test('results have the order of the items, whichever ends first', async () => {
    const { begun, start, end } = tasks();
    const results = mapAtMost(2, ['a', 'b', 'c'], start);
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    await end('c');
    await end('a');
    expect(await results).toEqual(['A', 'B', 'C']);
    expect(await mapAtMost(2, [], start)).toEqual([]);
  });

  test('no more items are taken after a failure', async () => {
    const { begun, start, end } = tasks();
    const results = mapAtMost(2, ['a', 'b', 'c', 'd'], start);
    const failure = expect(results).rejects.toThrow('broken');
    await end('a', new Error('broken'));
    await failure;
    await end('b');
    expect(begun).toEqual(['a', 'b']);
  });
});
