// Several keys of a KeyedMutex at once: alone, or side by side with others that share them.
import { expect, test } from 'vitest';
import { KeyedMutex } from '../../../server/lib/keyed-mutex.ts';
import { until } from '../../support/until.ts';

/** Work that lasts until `end`. */
function lasting(done: string[], name: string) {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const work = async (): Promise<void> => {
    done.push(`${name} begins`);
    await ended;
    done.push(`${name} ends`);
  };
  return { work, end };
}

test('shared work runs side by side, and work that wants the keys alone waits for all of it', async () => {
  const locks = new KeyedMutex();
  const done: string[] = [];
  const [one, two] = [lasting(done, 'one'), lasting(done, 'two')];
  const shared = [locks.shareAll(['a', 'b'], one.work), locks.shareAll(['b', 'a'], two.work)];
  await until(() => done.length === 2);
  const alone = locks.runAllUnshared(['b'], () => Promise.resolve(done.push('alone')));
  two.end();
  await shared[1];
  one.end();
  await Promise.all([...shared, alone]);
  expect(done).toEqual(['one begins', 'two begins', 'two ends', 'one ends', 'alone']);
});

test('shared work that comes while others wait for the key alone waits for them', async () => {
  const locks = new KeyedMutex();
  const done: string[] = [];
  const first = lasting(done, 'first');
  const all = [locks.shareAll(['a'], first.work)];
  await until(() => done.length === 1);
  all.push(locks.runAllUnshared(['a'], () => Promise.resolve(void done.push('alone'))));
  all.push(locks.shareAll(['a'], () => Promise.resolve(void done.push('second'))));
  first.end();
  await Promise.all(all);
  expect(done).toEqual(['first begins', 'first ends', 'alone', 'second']);
});

test('work on several keys does not wait in a ring, whether it shares them or not', async () => {
  const locks = new KeyedMutex();
  const done: string[] = [];
  const holder = lasting(done, 'holder');
  const all = [locks.run('b', holder.work)];
  await until(() => done.length === 1);
  // It shares `a` while it waits for `b`, which the next one must not take first.
  all.push(locks.shareAll(['a', 'b'], () => Promise.resolve(void done.push('shared'))));
  all.push(locks.runAllUnshared(['b', 'a'], () => Promise.resolve(void done.push('alone'))));
  holder.end();
  await Promise.all(all);
  expect(done).toEqual(['holder begins', 'holder ends', 'shared', 'alone']);
});

test('a failure of shared work is its own alone', async () => {
  const locks = new KeyedMutex();
  await expect(locks.shareAll(['a', 'b'], () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  await expect(locks.runAllUnshared(['a', 'b'], () => Promise.resolve('free'))).resolves.toBe('free');
});
