// A read waits for everything that others have acknowledged, and reports when it cannot; a read that must be current waits until the store
// answers again.
import { expect, onTestFinished, test, vi } from 'vitest';
import { ReadBarrier } from '../../../server/membership/read-barrier.ts';
import type { Store } from '../../../server/store/store.ts';

/** A store that does not answer its first `away` questions; what it has is in memory. */
function barrierOf(away: number) {
  const asked = { times: 0 };
  const lastWrite = async (): Promise<number> => {
    asked.times += 1;
    if (asked.times <= away) throw new Error('no leader');
    return 7;
  };
  const store = (): Store => ({ lastWrite }) as unknown as Store;
  return { asked, barrier: new ReadBarrier({ store, contents: { reached: (rev) => Promise.resolve(rev === 7) } }) };
}

test('a read passes when the store answers, and does not wait again while it is away', async () => {
  expect(await barrierOf(0).barrier.pass()).toBe(true);
  const { barrier } = barrierOf(1);
  expect(await barrier.pass()).toBe(false);
  const began = performance.now();
  expect(await barrier.pass()).toBe(false);
  expect(performance.now() - began).toBeLessThan(900);
  // The question was answered.
  expect(await barrier.passAtLast()).toBe(true);
  expect(await barrier.pass()).toBe(true);
});

test('a read that must be current waits while the store is away, and is given up in the end', async () => {
  const { barrier, asked } = barrierOf(2);
  expect(await barrier.passAtLast()).toBe(true);
  expect(asked.times).toBe(3);
  const gone = barrierOf(Number.POSITIVE_INFINITY);
  expect(await gone.barrier.passAtLast(1_500)).toBe(false);
  expect(gone.asked.times).toBe(2);
});

test('a change waits for an election that a read did not wait for', async () => {
  const { barrier, asked } = barrierOf(2);
  expect(await barrier.pass()).toBe(false);
  expect(await barrier.answersChanges(false, performance.now())).toBe(true);
  expect(asked.times).toBe(3);
});

test('a change is refused after one question when the store has been silent for longer than an election', async () => {
  const { barrier, asked } = barrierOf(Number.POSITIVE_INFINITY);
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000);
  onTestFinished(() => clock.mockRestore());
  expect(await barrier.answersChanges(true, Number.NEGATIVE_INFINITY)).toBe(false);
  expect(asked.times).toBe(1);
});
